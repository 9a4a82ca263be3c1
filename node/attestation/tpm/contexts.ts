import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { listHandles } from './capabilities.ts'
import type { Tpm } from './tpm-command.ts'

const loadedSessions = 0x0200_0000
const transientObjects = 0x8000_0000

/** Frees the memory of a key or a session in the TPM. */
async function flush(tpm: Tpm, handle: number): Promise<void> {
  const parameters = createTpmWriter().u32(handle).done()
  await tpm.send({ name: 'FlushContext', parameters })
}

/** Runs `work` with a key or session, and always frees it in the end. */
export async function flushing<T>(tpm: Tpm, handle: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    // The error of `work` is more useful than one of the flush.
    await flush(tpm, handle).catch(() => {})
  }
}

/** Frees what an earlier, perhaps killed, user of a bare TPM left in it. */
export async function flushLeftovers(tpm: Tpm): Promise<void> {
  for (const first of [transientObjects, loadedSessions]) {
    for (const handle of await listHandles(tpm, first)) await flush(tpm, handle).catch(() => {})
  }
}
