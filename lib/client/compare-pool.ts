/*
 * Problem: the ICL makes the pool that lists are drawn from. It could leave out nodes that it dislikes, or add accounts that have nothing
 * to lose.
 *
 * Idea: the client compares the pool with NodeRegistry before it pays. It refuses a pool without any active node, or with a node without a
 * stake. It counts and reports active nodes that the pool leaves out, since some may not serve this ICL.
 *
 * Invariants: a pool's name is the hash of its content, so a process downloads each part once. A comparison is valid for a minute.
 *
 * Failure cases: an RPC that does not search all blocks for registrations cannot show which nodes are left out, and the client says so. The
 * ICL remembers a node's stake for a minute: for that long, a pool with a node that lost its stake is refused.
 */

import type { Blobs } from '../blobs/blobs.ts'
import { elapsedSince, type MonotonicMs } from '../clock.ts'
import type { Address } from '../codecs.ts'
import type { PoolNode } from '../pool-line.ts'
import { maxPageBytes, readPool } from '../pool-snapshot.ts'
import { SvcError } from '../svc-error.ts'
import type { ClientChain } from './client-chain.ts'
import type { ClientContext } from './context.ts'

/** A pool compared with NodeRegistry. */
export type PoolComparison = {
  /** Nodes of the pool, and how many of them are active on chain. */
  readonly nodes: number
  readonly active: number
  /** Active nodes that the pool leaves out; undefined when the RPC does not show which nodes have registered. */
  readonly leftOut: number | undefined
}

const rememberedMs = 60_000
const maxParts = 256
const maxComparisons = 8

type Bytes = Uint8Array<ArrayBuffer>
type Remembered = { readonly at: MonotonicMs; readonly comparison: PoolComparison }

const partsOf = new WeakMap<Blobs, Map<string, Bytes>>()
const comparisonsOf = new WeakMap<ClientChain, Map<string, Remembered>>()

/** Returns the nodes of a published pool. Downloads only the parts that this process has not seen. Throws as `readPool` does. */
export async function readPublished(
  { blobs }: Pick<ClientContext, 'blobs'>,
  cid: string,
  signal?: AbortSignal,
): Promise<readonly PoolNode[]> {
  const parts = partsOf.get(blobs) ?? new Map<string, Bytes>()
  partsOf.set(blobs, parts)
  const { nodes } = await readPool(cid, async (part) => {
    const bytes = parts.get(part) ?? (await blobs.download(part, signal))
    // An ICL could publish any number of larger ones.
    if (bytes.length <= maxPageBytes) remember(parts, part, bytes, maxParts)
    return bytes
  })
  return nodes
}

/** Compares a pool with NodeRegistry. Throws SvcError `pool-inactive` or `pool-unstaked`, or a chain error. */
export async function comparePool(
  { chain, clock }: Pick<ClientContext, 'chain' | 'clock'>,
  cid: string,
  pool: readonly PoolNode[],
  signal?: AbortSignal,
): Promise<PoolComparison> {
  const known = comparisonsOf.get(chain) ?? new Map<string, Remembered>()
  comparisonsOf.set(chain, known)
  const last = known.get(cid)
  if (last && elapsedSince(clock, last.at) < rememberedMs) return last.comparison
  const at = clock.monotonic()
  const nodes = pool.map(({ address }) => address)
  const registered = await chain.registeredNodes(signal).catch(() => {
    signal?.throwIfAborted()
    return undefined
  })
  const published = new Set(nodes)
  const others = (registered ?? []).filter((node) => !published.has(node))
  const active = await chain.activeNodes([...nodes, ...others], signal)
  const inactive = nodes.filter((node) => !active.has(node))
  if (nodes.length > 0 && inactive.length === nodes.length) throw noneActive(nodes.length)
  for (const node of inactive) {
    if (!(await chain.nodeOf(node, signal)).staked) throw unstaked(node)
  }
  const comparison = {
    nodes: nodes.length,
    active: nodes.length - inactive.length,
    leftOut: registered && others.filter((node) => active.has(node)).length,
  }
  remember(known, cid, { at, comparison }, maxComparisons)
  return comparison
}

/** Returns a warning about a pool that leaves active nodes out, or may; undefined when it has all of them. */
export function describeLeftOut({ active, leftOut }: PoolComparison): string | undefined {
  if (leftOut === undefined) {
    return 'the chain RPC does not tell which nodes have registered: the pool may leave active ones out'
  }
  if (leftOut === 0) return undefined
  return `the pool leaves out ${leftOut} of ${active + leftOut} active nodes`
}

function remember<T>(known: Map<string, T>, name: string, value: T, most: number): void {
  known.delete(name)
  known.set(name, value)
  const [oldest] = known.keys()
  if (known.size > most && oldest !== undefined) known.delete(oldest)
}

const hint =
  'Try again in a minute. If it stays, do not use this ICL: its pool is not of nodes that have something to lose.'

const noneActive = (count: number): SvcError =>
  new SvcError('pool-inactive', `None of the ${count} nodes of the pool is active on chain`, {
    hint,
    retryable: true,
  })

const unstaked = (node: Address): SvcError =>
  new SvcError('pool-unstaked', `The pool has the node ${node}, which has no stake on chain`, {
    hint,
    retryable: true,
  })
