import { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { type KuboRpc, readKubo } from './kubo-rpc.ts'
import { readLines } from './read-lines.ts'

const maxPartBytes = 64 * 1024 * 1024
// Kubo lists some 25,000 pins a second, and those before a part, too.
const listMs = 300_000

const Pinned = z.object({ Pins: z.array(z.string().max(100)).max(10) })
const Pin = z.object({ Cid: z.string().max(100), Name: z.string().max(300).optional() })

/** Pins a block that Kubo has. */
export async function pin(rpc: KuboRpc, cid: string, name: string): Promise<void> {
  const command = 'pin/add'
  const query = { arg: cid, name, offline: 'true' }
  readKubo(Pinned, command, await rpc({ command, query }))
}

/** Which part of the list of pins is wanted, in lines: all of it might not fit in memory. */
type PinPart = { readonly skip: number; readonly limit: number }

/** The blocks in a part of the pins that are pinned under a name, and whether it is the last part. */
export async function listPins(
  rpc: KuboRpc,
  name: string,
  { skip, limit }: PinPart,
): Promise<{ readonly cids: readonly string[]; readonly isLast: boolean }> {
  const command = 'pin/ls'
  // Kubo takes every pin whose name holds these words.
  const query = { type: 'recursive', names: 'true', name, stream: 'true' }
  const answer = await rpc({
    command,
    query,
    maxBytes: maxPartBytes,
    attemptMs: listMs,
    read: (response, maxBytes) => readLines(response, { skip, limit, maxBytes }),
  })
  if ('refusal' in answer) return readKubo(z.never(), command, answer)
  const text = new TextDecoder().decode(answer.bytes)
  const lines = text.split('\n').filter((line) => line !== '')
  try {
    const pins = lines.map((line) => Pin.parse(JSON.parse(line)))
    const cids = pins.filter((one) => one.Name === name).map(({ Cid }) => Cid)
    return { cids, isLast: lines.length < limit }
  } catch (cause) {
    throw new SvcError('kubo-refused', 'Kubo gave a list of pins that cannot be read', {
      hint: 'Check its version: 0.40 was tried.',
      cause,
    })
  }
}

/** Unpins a block and removes it, unless it is wanted again; returns whether it was removed. */
export async function unpin(
  rpc: KuboRpc,
  cid: string,
  { pinName, isWanted }: { pinName: string; isWanted: () => Promise<boolean> },
): Promise<boolean> {
  const command = 'pin/rm'
  const answer = await rpc({ command, query: { arg: cid } })
  const isGoneAlready = 'refusal' in answer && answer.refusal.includes('not pinned')
  if (!isGoneAlready) readKubo(Pinned, command, answer)
  if (await isWanted()) {
    await pin(rpc, cid, pinName)
    return false
  }
  // Kubo removes no block that is pinned.
  await rpc({ command: 'block/rm', query: { arg: cid, force: 'true' } })
  return true
}
