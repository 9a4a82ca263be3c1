import { z } from 'zod'
import type { Api } from '../../lib/api.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { ReputationStatement } from '../../lib/schemas/nodes.ts'
import { verifySignature } from '../../lib/session-key.ts'

/** A node's reputation events, as its ICL returns them. */
export type SignedEvents = {
  /** Newest first. Only events for this node that are signed by a key that the ICL publishes. */
  readonly events: readonly ReputationStatement[]
  /** The number of other events. */
  readonly unsigned: number
  /** False when there are more pages than `maxPages`. */
  readonly isComplete: boolean
}

const attempts = 5
const bytesOf = (body: ReputationStatement) => canonicalJson(z.encode(ReputationStatement, body))

/** Reads up to `maxPages` pages of a node's reputation events and checks each signature. Throws the errors of the ICL's client. */
export async function readSignedEvents(
  api: Pick<Api, 'getJwks' | 'getNodeEvents'>,
  address: Address,
  maxPages: number,
  signal?: AbortSignal,
): Promise<SignedEvents> {
  const options = { attempts, ...(signal && { signal }) }
  const { keys } = await api.getJwks({}, options)
  const trusted = new Set(keys.map(({ x }) => x))
  const events = new Map<string, ReputationStatement>()
  let unsigned = 0
  let cursor: string | null = null
  for (let page = 0; page < maxPages && (page === 0 || cursor !== null); page++) {
    const query: { cursor?: string } = cursor === null ? {} : { cursor }
    const answer = await api.getNodeEvents({ params: { address }, query }, options)
    for (const { body, key, signature } of answer.events) {
      const isOurs = body.address === address && trusted.has(key)
      if (isOurs && (await verifySignature(key, signature, bytesOf(body)))) {
        events.set(body.id, body)
      } else unsigned++
    }
    cursor = answer.next_cursor
  }
  return { events: [...events.values()], unsigned, isComplete: cursor === null }
}
