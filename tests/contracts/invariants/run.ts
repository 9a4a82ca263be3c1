import { concat, type Hex, keccak256, toHex } from 'viem'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { createDice } from '../../simulation/dice.ts'
import { createBlocks, type Happened } from './block.ts'
import { type FuzzChain, startFuzzChain, word } from './fuzz-chain.ts'
import { createInvariants } from './invariants.ts'
import { createListWatch } from './list-watch.ts'
import { createModels, type Models } from './models.ts'
import { createRandomCalls } from './random-call.ts'

const dayS = 86_400
const allowedSlot = 1

export type RunOptions = {
  readonly seed: number
  readonly calls: number
  readonly onProgress?: (calls: number) => void
}

/** What a run has seen on chain. */
export type RunReport = {
  readonly calls: number
  readonly blocks: number
  readonly days: number
  /** How often, by contract and name: calls that were done, errors, events. */
  readonly done: ReadonlyMap<string, number>
  readonly errors: ReadonlyMap<string, number>
  readonly events: ReadonlyMap<string, number>
  /** Functions that only read, by contract and name. */
  readonly read: ReadonlySet<string>
  readonly keys: number
  readonly results: number
}

const count = (counts: Map<string, number>, name: string) =>
  counts.set(name, (counts.get(name) ?? 0) + 1)

/** Makes random calls until `calls` are on chain, and checks everything after each block; throws an error that says what did not hold, where, and how to see it again. */
export const runInvariants = async (options: RunOptions): Promise<RunReport> => {
  const chain = await startFuzzChain()
  try {
    return await runOn(chain, options)
  } finally {
    await chain.stop()
  }
}

const runOn = async (
  chain: FuzzChain,
  { seed, calls, onProgress = () => {} }: RunOptions,
): Promise<RunReport> => {
  const dice = createDice(seed)
  const models = createModels(chain)
  const blocks = await createBlocks(chain)
  const invariants = createInvariants(chain, models)
  const lists = createListWatch(chain)
  const [latest] = (await chain.rpc([['eth_getBlockByNumber', 'latest', false]])) as [
    { readonly timestamp: Hex },
  ]
  const startedAt = Number(latest.timestamp)
  let now = startedAt
  let forced = 0n
  const random = createRandomCalls({ dice, chain, models, now: () => now })
  const done = new Map<string, number>()
  const errors = new Map<string, number>()
  const events = new Map<string, number>()
  const fail = (made: number, what: string): never => {
    throw new Error(
      `${what}\nafter ${made} calls; again: npm run contracts:fuzz -- --seed ${seed} --calls ${made}`,
    )
  }
  /** Compares each call with the models, in the order of the block. */
  const compare = ({ call, outcome }: Happened, made: number) => {
    const expected = models.recorder.outcomeOf(() => call.model(now))
    const [is, must] = [JSON.stringify(outcome), JSON.stringify(expected)]
    if (is !== must) fail(made, `${call.name} by ${call.from}: ${is}, and must be ${must}`)
    const [contract = ''] = call.name.split('.')
    if (outcome.kind === 'reverted') {
      count(errors, `${contract}.${outcome.error}`)
      return
    }
    count(done, call.name)
    lists.note(call, outcome.events)
    for (const event of outcome.events) {
      count(events, `${contract}.${event.slice(0, event.indexOf('('))}`)
    }
  }
  const wrong = await invariants.constants()
  if (wrong.length > 0) fail(0, wrong.join('\n'))
  let made = 0
  let mined = 0
  while (made < calls) {
    await random.prepare(100)
    await verifyElsewhere(chain, models, dice)
    if (dice.chance(0.05)) forced += await forceEther(chain, BigInt(dice.between(1, 1_000)))
    const batch = Array.from({ length: Math.min(dice.between(20, 70), calls - made) }, random.next)
    now = nextTime(models, dice, now)
    const handlesBefore = models.access.readers.size
    for (const happened of await blocks.mine(batch, now)) {
      made += 1
      compare(happened, made)
    }
    mined += 1
    const handles = [...models.access.readers.keys()]
    const jobs = [...models.results.receipts.keys()]
    const faults = [...models.nodes.slashes.keys()]
    const isLast = made >= calls
    const look = {
      handles: isLast ? handles : [...handles.slice(handlesBefore), ...some(dice, handles, 6)],
      jobs: isLast ? jobs : some(dice, jobs, 8),
      faults: isLast ? faults : faults.slice(-10),
    }
    const broken = [
      ...(await invariants.broken(look, now, forced)),
      ...(await lists.broken(look.handles)),
    ]
    if (broken.length > 0) fail(made, broken.slice(0, 5).join('\n'))
    onProgress(made)
  }
  const read = invariants.asked
  const [keys, results] = [models.keys.records.size, models.results.receipts.size]
  const days = (now - startedAt) / dayS
  return { calls: made, blocks: mined, days, done, errors, events, read, keys, results }
}

const some = <T>(dice: ReturnType<typeof createDice>, from: readonly T[], number: number) =>
  from.length === 0 ? [] : Array.from({ length: number }, () => dice.pick(from))

/** Another contract has had ciphertexts verified, and lets an account use them. */
const verifyElsewhere = async (
  { rpc, actors }: FuzzChain,
  { access, verified }: Models,
  dice: ReturnType<typeof createDice>,
): Promise<void> => {
  const account = dice.pick(actors)
  const slotOf = (key: Hex, slot: Hex) => keccak256(concat([key, slot]))
  const padded: Hex = `0x${account.slice(2).padStart(64, '0')}`
  for (let index = 0; index < 2; index++) {
    const type = dice.chance(0.1) ? 5n : 6n
    const handle = (BigInt(toHex(dice.bytes(32))) & ~0xffffn) | (type << 8n)
    const slot = slotOf(padded, slotOf(word(handle), word(allowedSlot)))
    await rpc([['anvil_setStorageAt', taskManager, slot, word(1)]])
    access.give(handle, account)
    verified.push({ handle, account })
  }
  if (verified.length > 40) verified.splice(0, verified.length - 40)
}

/** Ether that comes in without any function, as a self-destruct can send it. */
const forceEther = async ({ rpc, contracts }: FuzzChain, wei: bigint): Promise<bigint> => {
  const [held] = await rpc([['eth_getBalance', contracts.nodeRegistry, 'latest']])
  await rpc([['anvil_setBalance', contracts.nodeRegistry, toHex(BigInt(held as Hex) + wei)]])
  return wei
}

/** A little later mostly; sometimes days, or the very second at which something becomes possible. */
const nextTime = ({ nodes }: Models, dice: ReturnType<typeof createDice>, now: number): number => {
  const turns = [
    ...[...nodes.slashes.values()].flatMap(({ settled, executableAt }) =>
      settled ? [] : [executableAt],
    ),
    ...[...nodes.nodes.values()].flatMap(({ unbondingAt, lastHeartbeat }) => [
      lastHeartbeat + 11 * dayS,
      ...(unbondingAt === 0 ? [] : [unbondingAt + 7 * dayS]),
    ]),
  ].filter((time) => time > now + 1)
  if (turns.length > 0 && dice.chance(0.25)) return Math.min(...turns) + dice.between(-1, 1)
  if (dice.chance(0.1)) return now + dice.pick([1, 3, 7, 12]) * dayS
  return now + dice.pick([1, 2, 60, 3_600, 6 * 3_600])
}
