import { decodeFunctionData, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import type { RandomCall } from './callers.ts'
import type { FuzzChain } from './fuzz-chain.ts'

// What must hold for lists and output keys, whatever the rules are: it knows the calls that were done, the events and the
// chain's answers, and none of the models. So a mistake that the models share with the contract shows here.

type Watched = {
  readonly owner: string
  readonly low: bigint
  /** Whom the contract gave access. */
  readonly readers: Set<string>
  commitment?: string
  list?: readonly string[]
  used: number
  ended: boolean
  output?: { readonly prompt: bigint; readonly self: number; readonly mask: number }
}

const membersOf = (list: readonly string[], mask: number): readonly string[] =>
  list.filter((_, position) => ((mask >> position) & 1) === 1)

const areAll = (readers: ReadonlySet<string>, named: readonly string[]): boolean =>
  readers.size === named.length && named.every((one) => readers.has(one))

/** Watches the keys of a run; each mistake is a sentence. */
export const createListWatch = ({ rpc, contracts }: FuzzChain) => {
  const keys = new Map<bigint, Watched>()
  const mistakes: string[] = []
  const demand = (holds: boolean, high: bigint, what: string) => {
    if (!holds) mistakes.push(`key ${high}: ${what}`)
  }

  const noteEvent = (
    name: string,
    args: readonly string[],
    list: readonly string[] | undefined,
  ) => {
    if (name === 'KeyStored') {
      const [owner = '', high = '', low = ''] = args
      keys.set(BigInt(high), {
        ...{ owner, low: BigInt(low), readers: new Set<string>() },
        ...{ used: 0, ended: false },
      })
      return
    }
    if (name === 'HandlesStored') return
    const high = BigInt(args[0] ?? 0)
    const key = keys.get(high)
    if (key === undefined) throw new Error(`${name} for a key that was never stored`)
    if (name === 'AccessGranted') {
      const reader = args[2] ?? ''
      const isMember = key.output !== undefined || key.list?.includes(reader) === true
      demand(isMember, high, `${reader} is not on the list and got access`)
      demand(key.list === undefined || !key.ended, high, `${reader} got access after the end`)
      key.readers.add(reader)
    } else if (name === 'ListCommitted') {
      demand(key.commitment === undefined, high, 'a second list was committed')
      demand(!key.ended && key.output === undefined, high, 'it cannot get a list any more')
      key.commitment = args[3] ?? ''
      key.list = list ?? []
    } else if (name === 'ListEnded') {
      demand(!key.ended, high, 'its list ended twice')
      key.ended = true
    } else if (name === 'OutputKeyStored') {
      key.output = { prompt: BigInt(args[1] ?? 0), self: Number(args[3]), mask: Number(args[4]) }
    }
  }
  /** Notes a call that was done, and its events in their order. */
  const note = ({ to, data }: RandomCall, events: readonly string[]) => {
    if (to !== contracts.promptKeyStore) return
    const { functionName, args } = decodeFunctionData({ abi: promptKeyStoreAbi, data })
    const list = functionName === 'commitList' ? args[3].map((one) => one.toLowerCase()) : undefined
    for (const event of events) {
      const open = event.indexOf('(')
      noteEvent(event.slice(0, open), event.slice(open + 1, -1).split(','), list)
    }
  }

  const checkOutput = (high: bigint, { owner, readers, output }: Watched) => {
    if (output === undefined) return
    const prompt = keys.get(output.prompt)
    const list = prompt?.list ?? []
    demand(list[output.self] === owner, high, 'its owner is not at its position')
    const others = membersOf(list, output.mask & ~(1 << output.self))
    const named = [prompt?.owner ?? '', ...others]
    demand(areAll(readers, named), high, `readers ${[...readers]} in place of ${named}`)
    for (const reader of [owner, ...others]) {
      demand(
        prompt?.readers.has(reader) === true,
        high,
        `${reader} has no access to the prompt key`,
      )
    }
  }
  const checkList = (high: bigint, key: Watched, answer: readonly [Hex, number, boolean]) => {
    const [commitment, used, ended] = answer
    const expected = key.commitment ?? `0x${'00'.repeat(32)}`
    demand(commitment === expected, high, `the commitment is ${commitment}, and was ${expected}`)
    demand(ended === key.ended, high, `ended is ${ended}`)
    demand((used & key.used) === key.used, high, `positions were taken back: ${used}`)
    key.used = used
    if (key.list === undefined) return
    const members = membersOf(key.list, used)
    demand(areAll(key.readers, members), high, `readers ${[...key.readers]}, used ${used}`)
  }
  /** What does not hold for these keys. */
  const broken = async (handles: readonly bigint[]): Promise<readonly string[]> => {
    const looked = handles.flatMap((high) => {
      const key = keys.get(high)
      return key === undefined ? [] : [[high, key] as const]
    })
    const asked = { abi: promptKeyStoreAbi, functionName: 'listOf' } as const
    for (let from = 0; from < looked.length; from += 500) {
      const some = looked.slice(from, from + 500)
      const answers = await rpc(
        some.map(([high, { low }]) => {
          const data = encodeFunctionData({ ...asked, args: [high, low] })
          return ['eth_call', { to: contracts.promptKeyStore, data }, 'latest']
        }),
      )
      for (const [index, [high, key]] of some.entries()) {
        checkList(high, key, decodeFunctionResult({ ...asked, data: answers[index] as Hex }))
        checkOutput(high, key)
      }
    }
    return mistakes.splice(0)
  }
  return { note, broken }
}
