import { canonicalJson } from '../../../lib/canonical-json.ts'
import { sha256Hex } from '../../../lib/digest.ts'
import { addressAt, nodeAt, tallyKey } from '../../lib/make-receipt.ts'

type Body = Record<string, unknown>
type Signed = { body: Body; signature: string }
type Turn = { delivery?: Signed; verdicts: Signed[]; abort?: Signed }
type Seen = { fence: unknown; commitment: unknown }[][]
type Json = Turn & {
  answers: (Signed & { batch: number })[]
  seen: Seen
  attested?: (Signed & { body: { weighed: { answer: string }[] } })[]
  failed_deliveries: Turn[]
  tally: { body: Body }
}

const hashOf = (value: unknown) => sha256Hex(canonicalJson(value))
const positions = new Map(Array.from({ length: 9 }, (_, at) => [`${addressAt(at)}`, at]))

async function sign(signed: Signed): Promise<void> {
  const position = positions.get(`${signed.body.address}`)
  if (position === undefined) return
  const { key } = await nodeAt(position)
  signed.signature = await key.sign(canonicalJson(signed.body))
}

/** Makes commitments and answers fit one another again. */
async function mend({ answers, seen }: Json): Promise<void> {
  for (const { body } of answers) {
    const { jobId, address, fence, evidence, salt } = body
    for (const one of seen.flat()) {
      if (one.fence === fence)
        one.commitment = await hashOf({ jobId, address, fence, evidence, salt })
    }
  }
  for (const { body, batch } of answers) body.seen = await hashOf(seen[batch])
}

/**
 * A receipt after changes of its JSON, signed again by its nodes and its ICL, so that the changes are refused for what they are. With
 * `isMended` the nodes committed to what they answered, and saw the commitments that it shows.
 */
export async function resigned(before: unknown, after: unknown, isMended: boolean): Promise<Json> {
  const [old, made] = [before, structuredClone(after)] as [Json, Json]
  const hashes = new Map<unknown, string>()
  const again = async (from: Signed | undefined, to: Signed) => {
    for (const name of ['answer', 'delivery']) {
      if (hashes.has(to.body[name])) to.body[name] = hashes.get(to.body[name])
    }
    if (from) hashes.set(await hashOf(from.body), await hashOf(to.body))
    await sign(to)
  }
  if (isMended) await mend(made)
  for (const answer of made.answers) {
    const { address } = answer.body
    await again(
      old.answers.find(({ body }) => body.address === address),
      answer,
    )
  }
  const turns: [Turn | undefined, Turn][] = [
    ...made.failed_deliveries.map((turn, at): (typeof turns)[number] => [
      old.failed_deliveries[at],
      turn,
    ]),
    [old, made],
  ]
  for (const [from, { abort, delivery, verdicts }] of turns) {
    if (delivery) await again(from?.delivery, delivery)
    for (const verdict of verdicts) await again(undefined, verdict)
    if (abort) await sign(abort)
  }
  for (const numbers of made.attested ?? []) {
    for (const one of numbers.body.weighed) one.answer = hashes.get(one.answer) ?? one.answer
    await sign(numbers)
  }
  const { tally, ...record } = made
  const body = { ...tally.body, record: await hashOf(record) }
  const key = await tallyKey()
  const signature = await key.sign(canonicalJson(body))
  return { ...record, tally: { ...tally, body, key: key.publicKey, signature } } as Json
}
