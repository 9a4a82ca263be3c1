import { z } from 'zod'
import { concatBytes } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type KuboRpc, readKubo } from './kubo-rpc.ts'

const maxPartBytes = 64 * 1024 * 1024
// Kubo lists about 25,000 pins a second, and also those before the wanted part.
const listMs = 300_000

const Pinned = z.object({ Pins: z.array(z.string().max(100)).max(10) })
const Pin = z.object({ Cid: z.string().max(100), Name: z.string().max(300).optional() })

/** Pins a block that Kubo has. */
export async function pin(rpc: KuboRpc, cid: string, name: string): Promise<void> {
  const command = 'pin/add'
  const query = { arg: cid, name, offline: 'true' }
  readKubo(Pinned, command, await rpc({ command, query }))
}

/** Returns the blocks that are pinned under a name, of a part of the list in lines. All of the list might not fit in memory. */
export async function listPins(
  rpc: KuboRpc,
  name: string,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Promise<{ readonly cids: readonly string[]; readonly isLast: boolean }> {
  const command = 'pin/ls'
  // Kubo lists every pin whose name contains this one.
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

/** Unpins a block and removes it, unless it is wanted again. Returns whether it was removed. */
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
  // Kubo does not remove a pinned block.
  await rpc({ command: 'block/rm', query: { arg: cid, force: 'true' } })
  return true
}

const newline = 0x0a

type Wanted = { readonly skip: number; readonly limit: number; readonly maxBytes: number }

/** Reads `limit` lines of an answer from `skip` on, and not the rest; undefined when they have more than `maxBytes`. */
export async function readLines(
  message: { readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null },
  { skip, limit, maxBytes }: Wanted,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  let passed = 0
  // Returns the position after the last of `lines`, or the end of the chunk.
  const goTo = (chunk: Uint8Array, start: number, lines: number): number => {
    let at = start
    while (passed < lines) {
      const end = chunk.indexOf(newline, at)
      if (end < 0) return chunk.length
      passed++
      at = end + 1
    }
    return at
  }
  for await (const chunk of message.body ?? []) {
    const from = goTo(chunk, 0, skip)
    const wanted = chunk.subarray(from, goTo(chunk, from, skip + limit))
    length += wanted.length
    // Leaving the loop cancels the rest of the body.
    if (length > maxBytes) return undefined
    chunks.push(wanted)
    if (passed >= skip + limit) break
  }
  return concatBytes(...chunks)
}
