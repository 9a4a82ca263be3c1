import type { Hash32 } from '../../lib/codecs.ts'
import { sha256Hex, utf8 } from '../../lib/digest.ts'
import { readLimitedFile } from '../../lib/host/private-files.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type Accusation, createRegistryReader } from '../chain/registry.ts'
import { etherText, timeText } from './amounts.ts'
import { type AtRegistry, atRegistry } from './at-registry.ts'
import type { CommandContext } from './context.ts'
import type { Given } from './options.ts'
import { confirmed } from './prompts.ts'
import { rpcName, withTimeout } from './reach.ts'
import { stepText } from './register.ts'

const maxFileBytes = 16 * 1024 * 1024

/** Puts the hash of the answer to an accusation on chain, once. The answer itself goes to the arbiter. Throws SvcErrors. */
export async function answerFault(
  { fault, ...flags }: Given<'answer'> & { readonly fault: Hash32 },
  context: CommandContext,
): Promise<undefined> {
  const answerHash = await sha256Hex(await answerOf(flags))
  await atRegistry(context, (at) => send(at, fault, answerHash, flags, context))
}

async function answerOf({ file, text }: Given<'answer'>): Promise<Uint8Array> {
  if (text !== undefined) return utf8(text)
  const path = file ?? ''
  const answer = await readLimitedFile(path, maxFileBytes, 'Name the file that holds the answer.')
  if (answer !== undefined) return answer
  throw new SvcError('file-too-large', `${path} has more than 16 MiB`, {
    hint: 'Answer with a shorter file.',
  })
}

async function send(
  { address, place, send: sendStep }: AtRegistry,
  faultId: Hash32,
  answerHash: Hash32,
  flags: Given<'answer'>,
  context: CommandContext,
): Promise<void> {
  const reader = createRegistryReader(place)
  const accusation = await withTimeout(context, rpcName(place.rpcUrl), (signal) =>
    reader.accusationOf(faultId, signal),
  )
  const { amountWei, executableAt, answerHash: before } = checkOpen(accusation, address, faultId)
  const step = { call: 'answer', faultId, answerHash } as const
  let tx: string | undefined
  if (before === undefined) {
    const message = `${stepText(step)}? Only its SHA-256 ${answerHash} goes on chain, and it cannot be changed. At stake: ${etherText(amountWei)}`
    await confirmed(context, flags, message)
    tx = await sendStep(step)
  } else if (before !== answerHash) {
    throw new SvcError('already-answered', `fault ${faultId} has the answer ${before} on chain`, {
      hint: 'An accusation is answered once. Send the arbiter what has that SHA-256.',
    })
  }
  if (flags.json) {
    const known = { fault_id: faultId, answer_hash: answerHash, executable_at: executableAt }
    context.print(JSON.stringify({ ...known, transaction: tx ?? null }))
    return
  }
  context.print(
    tx === undefined
      ? `This very answer is on chain already: ${answerHash}`
      : `Answered: SHA-256 ${answerHash}, transaction ${tx}`,
  )
  context.print(
    `Send the answer itself to the arbiter of NodeRegistry before ${timeText(executableAt)}. From then on the stake can be taken.`,
  )
}

/** Returns the accusation if this node can still answer it. */
function checkOpen(
  accusation: Accusation | undefined,
  address: string,
  faultId: Hash32,
): Accusation {
  if (accusation === undefined) {
    throw new SvcError('accusation-unknown', `NodeRegistry knows no accusation ${faultId}`, {
      hint: 'See `svc-node status` for those against this node.',
    })
  }
  if (accusation.operator !== address) {
    throw new SvcError('not-accused', `fault ${faultId} accuses ${accusation.operator}`, {
      hint: 'Only the accused operator can answer.',
    })
  }
  if (!accusation.isSettled) return accusation
  throw new SvcError('accusation-settled', `the accusation ${faultId} is settled`, {
    hint: 'There is nothing left to answer.',
  })
}
