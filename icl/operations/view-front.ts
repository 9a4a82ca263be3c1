import type { Dependencies } from '../dependencies.ts'
import type { createProbes } from './check-health.ts'
import { countModels } from './preview-quorum.ts'
import { countActive, readInTime, readinessOf } from './view-overview.ts'

/** The transactions of a job of three nodes, with their gas on a local chain and who pays it (docs/contracts.md). */
export const jobGas = [
  {
    payer: 'client',
    purpose: 'Store the key of the prompt',
    call: 'storeKey, terms',
    gas: 207_003,
  },
  {
    payer: 'client',
    purpose: 'Let the drawn nodes read it',
    call: 'commitList, 9 nodes, 3 with access',
    gas: 242_056,
  },
  {
    payer: 'node',
    purpose: 'Store the key of the answer',
    call: 'storeKey, output key, 3 readers',
    gas: 381_698,
  },
  {
    payer: 'icl',
    purpose: "Record the receipt's hash",
    call: 'commitResults, 1 result',
    gas: 48_520,
  },
] as const

/** The fewest nodes that a job needs. */
export const leastNodes = 3

/** The first things to know of an ICL. `nodes` and `models` are null when chain or store do not answer within 3 s. */
export type Front = Awaited<ReturnType<typeof viewFront>>

/** Returns what runs here, whether it is up, which models it serves by how many nodes, what a job costs and how to ask. */
export async function viewFront(deps: Dependencies, probes: ReturnType<typeof createProbes>) {
  const { version, public_url, chain_id, client_allow_list } = deps.network
  const [readiness, nodes, counted] = await Promise.all([
    readinessOf(probes),
    readInTime(deps.clock, () => countActive(deps)),
    readInTime(deps.clock, () => countModels(deps)),
  ])
  const models = counted?.map(({ model_id, nodes }) => ({ model_id, nodes })) ?? null
  const model = models?.toSorted((a, b) => b.nodes - a.nodes)[0]?.model_id ?? 'openai:gpt-4o-mini'
  return {
    ...{ version, public_url, chain_id, client_allow_list },
    ...readiness,
    nodes: nodes ?? null,
    models,
    cost: { inferences: leastNodes, transactions: jobGas },
    ask: {
      client: `SVC_ICL_ENDPOINT=${public_url} npm run infer -- --model ${model} "What is a lighthouse for?"`,
      gateway: `SVC_ICL_ENDPOINT=${public_url} npm run gateway`,
      node: `svc-node init --icl-endpoint ${public_url}`,
    },
  }
}
