import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const Lock = z.object({
  version: z.string(),
  packages: z.record(
    z.string(),
    z.object({
      name: z.string().optional(),
      version: z.string().optional(),
      integrity: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      optional: z.boolean().optional(),
      peer: z.boolean().optional(),
      dependencies: z.record(z.string(), z.string()).optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

/** The parts of package-lock.json that a release needs. */
export type Lock = z.output<typeof Lock>

/** Reads package-lock.json. */
export const readLock = async (root: string): Promise<Lock> =>
  Lock.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')))
