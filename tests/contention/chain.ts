import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Chain } from '../../icl/chain/chain.ts'
import type { OutputKey } from '../../lib/chain/output-key-of.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { ListStatement } from '../../lib/schemas/list.ts'
import { aHash } from '../branded.ts'
import { activeNode, createFakeChain } from '../icl/fake-chain.ts'
import { chainId } from '../icl/test-icl.ts'

const addressBits = 64n

let stored = 0n

/** Stores an output key of a node on the chain below; gives its handles. */
export function storeOutput(node: Address, key: OutputKey): readonly [bigint, bigint] {
  const high = (BigInt(node) << addressBits) + 2n * stored++
  const text = JSON.stringify({ ...key, promptHighHandle: `${key.promptHighHandle}` })
  writeFileSync(fileOf(high, high + 1n), text)
  return [high, high + 1n]
}

/** The handles of a client's prompt key on the chain below, which reads owner and terms in them. */
export const handlesOf = (client: Address, terms: Hash32) => ({
  highHandle: BigInt(client) << addressBits,
  lowHandle: BigInt(terms),
  blockNumber: 7n,
})

// What clients committed to: a file for each key, which all processes of a run see.
const folder = join(tmpdir(), 'svc-open-chain')
const fileOf = (high: bigint, low: bigint) => join(folder, `${high}-${low}`)
const keptMs = 3_600_000

/** Commits to the list of a key on the chain below, for a job without a nonce. */
export function commitListed(client: Address, promptCid: string, until: number, key: ListedKey) {
  const { highHandle, lowHandle } = key
  const { list, coordinator } = key.list.body
  const jobId = jobIdOf({
    ...{ chainId, client, promptCid, clientNonce: 0n },
    ...{ kpHighHandle: highHandle, kpLowHandle: lowHandle },
  })
  mkdirSync(folder, { recursive: true })
  const commitment = listCommitment({ jobId, activator: coordinator, until, list })
  writeFileSync(fileOf(highHandle, lowHandle), commitment)
}

type ListedKey = {
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly list: { readonly body: Pick<ListStatement, 'list' | 'coordinator'> }
}

/** A chain that every process can have for itself, because it remembers next to nothing: all nodes are active and may read all keys. */
export function createOpenChain(): Chain {
  const chain = createFakeChain()
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    const { mtimeMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? { mtimeMs: 0 }
    if (Date.now() - mtimeMs > keptMs) rmSync(join(folder, name), { force: true })
  }
  return {
    ...chain,
    nodeOf: async () => activeNode,
    nodesOf: async (addresses) => new Map(addresses.map((address) => [address, activeNode])),
    isAllowed: async () => true,
    listOf: async (high, low) => {
      const file = fileOf(high, low)
      // At once: to wait for the disk would cost more than all else that a benchmark asks of its chain.
      const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined
      return { commitment: text === undefined ? undefined : aHash(text), used: 0, ended: false }
    },
    outputKeyOf: async (high, low) => {
      const text = readFileSync(fileOf(high, low), 'utf8')
      const { promptHighHandle, ...key } = JSON.parse(text)
      return { ...key, promptHighHandle: BigInt(promptHighHandle) }
    },
    storedKeyAt: async (owner, high, low, number) =>
      high >> addressBits === BigInt(owner)
        ? {
            termsHash: aHash(`0x${low.toString(16).padStart(64, '0')}`),
            block: { number, hash: chain.blockHash },
            storedAt: Math.floor(Date.now() / 1000),
          }
        : undefined,
  }
}
