import { z } from 'zod'
import { cidOf } from '../../lib/cid.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemRandom } from '../../lib/system.ts'
import { putBlock, readBlock } from './kubo-blocks.ts'
import { pin, unpin } from './kubo-pins.ts'
import { createKuboRpc, type KuboRpc, type KuboRpcOptions, readKubo } from './kubo-rpc.ts'

const trialMs = 1_500
const blockBytes = 32

const Version = z.object({ Version: z.string().max(100) })

/**
 * Puts a small block into Kubo, pins it, reads it back and removes it, within 1.5 s. Throws SvcError `kubo-...` when Kubo does not answer or does
 * not take blocks. A trial that ends early may leave a pin of this name.
 */
export async function tryKubo(
  options: KuboRpcOptions & { readonly pinName: string },
): Promise<void> {
  const { clock, pinName } = options
  const once = createKuboRpc({ ...options, attemptMs: trialMs, attempts: 1 })
  const late = () =>
    new SvcError('kubo-unreachable', `Kubo did not take a block within ${trialMs} ms`, {
      hint: 'See what keeps Kubo busy, and start the ICL again.',
      retryable: true,
    })
  await withDeadline(clock, trialMs, undefined, late, async (signal) => {
    const rpc: KuboRpc = (call) => once({ ...call, signal })
    // Nothing is written to another program that has Kubo's port.
    readKubo(Version, 'version', await rpc({ command: 'version' }))
    // Random bytes, so that no other program has pinned them.
    const bytes = systemRandom.bytes(blockBytes)
    const cid = await cidOf(bytes)
    await putBlock(rpc, cid, bytes)
    await pin(rpc, cid, pinName)
    if ((await readBlock(options, rpc, cid, signal)) === undefined) {
      throw new SvcError('kubo-refused', 'Kubo does not give back a block that it has taken', {
        hint: 'Let `ipfs repo verify` look at its blocks.',
      })
    }
    await unpin(rpc, cid, { pinName, isWanted: async () => false })
  })
}
