import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { taskManagerAbi } from '../../../lib/abi/task-manager.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { type FuzzChain, minStake } from './fuzz-chain.ts'
import { commitmentOf } from './key-list-model.ts'
import { noWord } from './key-store-model.ts'
import type { Models } from './models.ts'
import { textOf } from './outcome.ts'
import { nobody, role } from './roles-model.ts'

const dayS = 86_400

/** Which keys, results and slashes are looked at: those that changed lately and some others, or all. */
export type Look = {
  readonly handles: readonly bigint[]
  readonly jobs: readonly Hex[]
  readonly faults: readonly Hex[]
}

type Question = {
  readonly contract: string
  readonly to: Hex
  readonly abi: Abi
  readonly functionName: string
  readonly args: readonly unknown[]
}
type NodeState = { readonly [name: string]: unknown; readonly stake: bigint }

/** Reads the contracts and compares them with what must hold; each mistake is a sentence. */
export const createInvariants = (chain: FuzzChain, models: Models) => {
  const { rpc, contracts } = chain
  const actors = [...chain.actors, chain.whale]
  const { nodes, keys, access, results } = models
  const on =
    (contract: string, to: Hex, abi: Abi) =>
    (functionName: string, args: readonly unknown[]): Question => ({
      contract,
      to,
      abi,
      functionName,
      args,
    })
  const registry = on('NodeRegistry', contracts.nodeRegistry, nodeRegistryAbi)
  const store = on('PromptKeyStore', contracts.promptKeyStore, promptKeyStoreAbi)
  const recorded = on('ResultRegistry', contracts.resultRegistry, resultRegistryAbi)
  const coprocessor = on('CofheTaskManager', taskManager, taskManagerAbi)
  /** Functions that were asked, by contract and name. */
  const asked = new Set<string>()

  const ask = async (questions: readonly Question[]): Promise<readonly unknown[]> => {
    const answers: unknown[] = []
    for (let from = 0; from < questions.length; from += 500) {
      const some = questions.slice(from, from + 500)
      const found = await rpc(
        some.map(({ to, abi, functionName, args }) => [
          'eth_call',
          { to, data: encodeFunctionData({ abi, functionName, args }) },
          'latest',
        ]),
      )
      for (const [index, question] of some.entries()) {
        asked.add(`${question.contract}.${question.functionName}`)
        answers.push(decodeFunctionResult({ ...question, data: found[index] as Hex }))
      }
    }
    return answers
  }

  /** Pairs of a question and the answer that it must have. */
  type Demand = readonly [Question, unknown, (answer: unknown) => unknown]
  const plain = (answer: unknown) => answer

  const roleDemands = (): readonly Demand[] =>
    (
      [
        [registry, nodes.roles, ['coordinator', 'arbiter', 'treasury', 'unheard of']],
        [recorded, results.roles, ['coordinator', 'arbiter']],
      ] as const
    ).flatMap(([question, roles, names]) =>
      names.map(role).flatMap((of): readonly Demand[] => [
        [question('holderOf', [of]), roles.holderOf(of), plain],
        [question('pendingHolderOf', [of]), roles.offers.get(of) ?? nobody, plain],
      ]),
    )

  const nodeDemands = (now: number): readonly Demand[] => [
    [registry('totalStake', []), nodes.totalStake(), plain],
    [registry('treasuryBalance', []), nodes.state.treasuryBalance, plain],
    ...actors.flatMap((operator): readonly Demand[] => {
      const node = nodes.nodes.get(operator)
      const state = [
        ...[node?.stake ?? 0n, node?.modelTiers ?? [], node?.lastHeartbeat ?? 0],
        ...[node?.registeredAt ?? 0, node?.unbondingAt ?? 0, node?.pendingSlashes ?? 0],
        ...[node?.slashed ?? 0n, nodes.isActive(operator, now)],
      ]
      const values = (answer: unknown) => Object.values(answer as NodeState)
      return [
        [registry('nodeOf', [operator]), state, values],
        [registry('isActive', [operator]), nodes.isActive(operator, now), plain],
        [registry('lastHeartbeat', [operator]), node?.lastHeartbeat ?? 0, plain],
      ]
    }),
  ]

  const slashDemands = (faults: readonly Hex[]): readonly Demand[] =>
    faults.flatMap((fault): readonly Demand[] => {
      const slash = nodes.slashes.get(fault)
      if (slash === undefined) return []
      const { operator, executableAt, settled, amount, evidenceHash, answerHash } = slash
      const expected = [operator, executableAt, settled, amount, evidenceHash, answerHash]
      return [[registry('slashOf', [fault]), expected, (answer) => Object.values(answer as object)]]
    })

  const keyDemands = (handles: readonly bigint[]): readonly Demand[] =>
    handles.flatMap((handle): readonly Demand[] => {
      const record = keys.records.get(handle)
      const list = [commitmentOf(record?.list), record?.used ?? 0, record?.ended ?? false]
      return [
        [store('ownerOf', [handle, record?.lowHandle ?? 1n]), record?.owner ?? nobody, plain],
        [store('listOf', [handle, record?.lowHandle ?? 1n]), list, plain],
        [coprocessor('isPubliclyAllowed', [handle]), access.open.has(handle), plain],
        ...actors.map(
          (owner): Demand => [
            store('lowHandleOf', [owner, handle]),
            keys.lowHandleOf(owner, handle),
            plain,
          ],
        ),
        ...[...actors, contracts.promptKeyStore].map(
          (account): Demand => [
            coprocessor('isAllowed', [handle, account]),
            access.isAllowed(handle, account),
            plain,
          ],
        ),
      ]
    })

  const resultDemands = (jobs: readonly Hex[]): readonly Demand[] =>
    jobs.map(
      (jobId): Demand => [
        recorded('resultOf', [jobId]),
        results.receipts.get(jobId) ?? noWord,
        plain,
      ],
    )

  /** Stakes and what is owed to the treasury are in the contract, all of it, also when ether is sent besides. */
  const accounting = async (forced: bigint): Promise<readonly string[]> => {
    const [held] = await rpc([['eth_getBalance', contracts.nodeRegistry, 'latest']])
    const reads = [registry('totalStake', []), registry('treasuryBalance', [])]
    const states = actors.map((operator) => registry('nodeOf', [operator]))
    const [total, owed, ...each] = (await ask([...reads, ...states])) as readonly [
      bigint,
      bigint,
      ...NodeState[],
    ]
    const sum = each.reduce((stakes, { stake }) => stakes + stake, 0n)
    const mistakes: string[] = []
    if (sum !== total) mistakes.push(`the stakes sum to ${sum}, and totalStake is ${total}`)
    if (total + owed !== BigInt(held as Hex) - forced) {
      mistakes.push(
        `stakes of ${total} and ${owed} owed to the treasury, yet ${held} wei are held, ${forced} of them forced in`,
      )
    }
    return mistakes
  }

  /** The mistakes in what the contracts answer to these questions. */
  const differing = async (demands: readonly Demand[]): Promise<readonly string[]> => {
    const answers = await ask(demands.map(([question]) => question))
    return demands.flatMap(([{ functionName, args }, expected, view], index) => {
      const [is, must] = [textOf(view(answers[index])), textOf(expected)]
      return is === must ? [] : [`${functionName}(${textOf(args)}) is ${is}, and must be ${must}`]
    })
  }

  /** What of the terms that never change is wrong. */
  const constants = (): Promise<readonly string[]> =>
    differing(
      (
        [
          [registry, 'COORDINATOR', role('coordinator')],
          [registry, 'ARBITER', role('arbiter')],
          [registry, 'TREASURY', role('treasury')],
          [registry, 'HEARTBEAT_WINDOW', 11 * dayS],
          [registry, 'UNBONDING_PERIOD', 7 * dayS],
          [registry, 'SLASH_WINDOW', 3 * dayS],
          [registry, 'MAX_MODEL_TIERS', 16],
          [registry, 'minStake', minStake],
          [store, 'MIN_LIST', 3],
          [store, 'MAX_LIST', 16],
          [store, 'nodeRegistry', contracts.nodeRegistry],
          [recorded, 'COORDINATOR', role('coordinator')],
          [coprocessor, 'acl', taskManager],
        ] as const
      ).map(([question, name, expected]): Demand => [question(name, []), expected, plain]),
    )

  /** What does not hold; `now` is the latest block's time, `forced` the wei that came in past every function. */
  const broken = async (look: Look, now: number, forced: bigint): Promise<readonly string[]> => [
    ...(await differing([
      ...roleDemands(),
      ...nodeDemands(now),
      ...slashDemands(look.faults),
      ...keyDemands(look.handles),
      ...resultDemands(look.jobs),
    ])),
    ...(await accounting(forced)),
  ]
  return { broken, constants, asked }
}
