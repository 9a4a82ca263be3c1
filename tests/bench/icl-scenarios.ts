import type { NodeSigner } from '../../lib/request-signature.ts'
import { heartbeatOf } from '../icl/test-icl.ts'
import { type Call, requestBytes } from './load/signed-request.ts'
import { jobIdOf } from './server/prepare.ts'
import { entriesOf } from './server/roster.ts'
import type { ServerProcess } from './server/server-process.ts'

export const scenarioNames = ['heartbeat', 'poll', 'claim', 'mixed'] as const
export type ScenarioName = (typeof scenarioNames)[number]

/** Signatures are dated ahead, so that what is signed for one round is fresh until all servers have had it. */
const aheadSeconds = 45

const heartbeat = (node: NodeSigner, round: number): Call => ({
  method: 'POST',
  path: '/internal/heartbeat',
  // Only a later one than the last is taken.
  body: heartbeatOf(node.address, { now: () => Date.now() + 1000 * round }),
})

const poll = ({ address }: NodeSigner): Call => ({
  method: 'GET',
  path: `/internal/assignments/${address}?wait=0`,
})

/** Of three nodes each, the first has fence 1. */
const claim = (index: number, round: number): Call => ({
  method: 'POST',
  path: '/internal/task/claim',
  body: { jobId: jobIdOf(round, Math.floor(index / 3)), fence: 1 + (index % 3) },
})

// 10,000 nodes that poll every 5 s, beat every 60 s, and run ten jobs a second.
const [polls, heartbeats, claims] = [2_000, 167, 30]
const all = polls + heartbeats + claims

function mixed(node: NodeSigner, index: number, round: number): Call {
  const turn = (index * 7_919) % all
  if (turn < claims) return claim(index, round)
  return turn < claims + heartbeats ? heartbeat(node, round) : poll(node)
}

const callOf = (name: ScenarioName, node: NodeSigner, index: number, round: number): Call => {
  switch (name) {
    case 'heartbeat':
      return heartbeat(node, round)
    case 'poll':
      return poll(node)
    case 'claim':
      return claim(index, round)
    case 'mixed':
      return mixed(node, index, round)
  }
}

/** One request of each node, signed. */
export async function signRound(
  name: ScenarioName,
  nodes: readonly NodeSigner[],
  round: number,
): Promise<readonly Uint8Array[]> {
  const signed: Uint8Array[] = []
  for (const [index, node] of nodes.entries()) {
    signed.push(await requestBytes(callOf(name, node, index, round), node, aheadSeconds))
  }
  return signed
}

/** Puts into the store of an ICL what a round starts from. */
export async function prepareRound(
  server: ServerProcess,
  name: ScenarioName,
  nodes: readonly NodeSigner[],
  round: number,
): Promise<void> {
  if (name === 'poll' || name === 'mixed') await server.call('nodes', { nodes: entriesOf(nodes) })
  if (name !== 'claim' && name !== 'mixed') return
  await server.call('offers', { round, nodes: nodes.map(({ address }) => address) })
}
