import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { type ReputationEvents, ReputationStatement } from '../../lib/schemas/nodes.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { cursorOf, pageOf, positionOf } from './page-position.ts'

const pageSize = 100

/** Returns a page of a node's reputation events, newest first. Each event is signed, so that it can be shown to others. */
export async function listNodeEvents(
  deps: Dependencies,
  address: Address,
  cursor: string | undefined,
): Promise<z.output<typeof ReputationEvents>> {
  const before = positionOf(cursor)
  if (!(await deps.store.findNode(address))) {
    throw new ProblemError('node-not-found', `No node ${address} has attested here`)
  }
  const found = await deps.store.listReputationEvents(address, { before, limit: pageSize + 1 })
  const { page, next_cursor } = pageOf(found, pageSize, cursorOf)
  return { events: await Promise.all(page.map((event) => signed(deps, event))), next_cursor }
}

/** The signature is over the canonical JSON (RFC 8785) of the body. */
async function signed({ keys: { tally } }: Dependencies, event: ReputationEvent) {
  const body: ReputationStatement = {
    statement: 'svc-reputation-v2',
    id: event.id,
    address: event.node,
    jobId: event.jobId,
    code: event.code,
    at: toSeconds(event.at),
    ...(event.amountGwei !== undefined && { amount_gwei: event.amountGwei }),
    ...(event.client !== undefined && { client: event.client }),
    ...(event.partners !== undefined && { partners: event.partners }),
    ...(event.again && { again: event.again }),
  }
  const signature = await tally.sign(canonicalJson(z.encode(ReputationStatement, body)))
  return { body, key: tally.publicKey, signature }
}
