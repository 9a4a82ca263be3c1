import { z } from 'zod'
import { runCommand } from '../../lib/host/run-command.ts'

const timeoutMs = 10_000

const BuildInfo = z.object({
  version: z.string().max(100),
  commit: z.string().max(100),
  source_hash: z.string().max(100),
})

/** What an executable reports about its build. */
export type BuildInfo = z.infer<typeof BuildInfo>

/** Asks an executable about its build. Undefined when it is not svc-node, or not an executable. */
export async function readBuildInfo(path: string): Promise<BuildInfo | undefined> {
  try {
    const command = [path, 'self-check', '--build', '--json'] as const
    const { stdout } = await runCommand(command, { timeoutMs, env: {} })
    return BuildInfo.parse(JSON.parse(stdout))
  } catch {
    return undefined
  }
}
