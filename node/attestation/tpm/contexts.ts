import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { listHandles } from './capabilities.ts'
import type { Tpm } from './tpm-command.ts'

const loadedSessions = 0x0200_0000
const transientObjects = 0x8000_0000

/** Frees the room of a key or a session. */
async function flush(tpm: Tpm, handle: number): Promise<void> {
  const parameters = createTpmWriter().u32(handle).done()
  await tpm.send({ name: 'FlushContext', parameters })
}

/** Does work with a key or session, and frees its room whatever comes of it. */
export async function flushing<T>(tpm: Tpm, handle: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    // What failed before says more than this can.
    await flush(tpm, handle).catch(() => {})
  }
}

/** Frees what an earlier user of a bare TPM left in it, who may have been killed. */
export async function flushLeftovers(tpm: Tpm): Promise<void> {
  for (const first of [transientObjects, loadedSessions]) {
    for (const handle of await listHandles(tpm, first)) await flush(tpm, handle).catch(() => {})
  }
}
