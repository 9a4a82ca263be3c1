import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { findKubo, type KuboProcess, startKubo } from '../../demo/kubo-process.ts'
import { createProcesses } from '../../demo/processes.ts'
import { whole } from '../whole.ts'

const found = await findKubo()
const whyNot = 'missing' in found ? found.missing : undefined
if (whyNot !== undefined && process.env.CI === 'true') throw new Error(whyNot)

/** `it` where Kubo is built; in CI it has to be. */
export const itWithKubo = whyNot === undefined ? it : it.skip

/** Why tests with Kubo are skipped, for their names; nothing when they are not. */
export const kuboNote = whyNot === undefined ? '' : `: ${whyNot}`

/** A Kubo for tests; undefined where it is not built. */
export async function startTestKubo(): Promise<
  { readonly kubo: KuboProcess; readonly stop: () => Promise<void> } | undefined
> {
  if (!('path' in found)) return undefined
  const { path } = found
  return whole(async (stops) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-kubo-test-'))
    stops.push(() => rm(folder, { recursive: true, force: true }))
    const processes = createProcesses(folder)
    stops.push(processes.close)
    return { kubo: await startKubo({ processes, folder, path }) }
  })
}
