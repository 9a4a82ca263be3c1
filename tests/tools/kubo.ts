import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { findKubo, type KuboProcess, startKubo } from '../../demo/kubo-process.ts'
import { createProcesses } from '../../demo/processes.ts'

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
  const folder = await mkdtemp(join(tmpdir(), 'svc-kubo-test-'))
  const processes = createProcesses(folder)
  const stop = async () => {
    await processes.close()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    return { kubo: await startKubo({ processes, folder, path: found.path }), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
