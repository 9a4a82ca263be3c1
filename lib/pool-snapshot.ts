/*
 * Problem: a pool is published whenever it has changed, and each job changes the weights of a few nodes. Clients should not download what
 * they have, and a new one should have the largest pool in few requests.
 *
 * Idea: the root has the weights of all nodes and names pages, which have all else. So weights alone change no page. Pages are split by
 * the bits of addresses: nodes that join or leave change only their own pages.
 *
 * Invariants: each node has one spelling, and nodes stand in the order of addresses. A reader accepts pages of any size, so that writers may
 * split otherwise.
 */
import { cidOf } from './cid.ts'
import { Cid } from './codecs.ts'
import { utf8 } from './digest.ts'
import { inPoolOrder } from './draw.ts'
import { firstIndex } from './first-index.ts'
import { createNodeReader, lineOf, type PoolNode, poolInvalid } from './pool-line.ts'
import { maxWeight } from './reputation.ts'

type Bytes = Uint8Array<ArrayBuffer>

const rootHeader = 'svc-pool-v3'
const pageHeader = 'svc-pool-page-v3'
/** Pools up to this size have one page. */
const leastPageNodes = 256
/** Larger ones have at least so many pages, and four times as many at most if addresses are spread evenly. */
const fewestPages = 16
/** The largest page that `snapshotPool` writes. */
export const maxPageBytes = 524_288
const addressBits = 160
const maxNodes = 100_000
const maxPages = 1_024
// Blob servers limit requests, and a hostile pool could fill the memory.
const pagesAtOnce = 16
// Of the most nodes, 670 bytes for each.
const maxBytes = 64 * 1_048_576

/** A pool as blobs by CID. `root` leads to all others. */
export type PoolSnapshot = { readonly root: string; readonly parts: ReadonlyMap<string, Bytes> }

/** Writes a pool as blobs: pages of nodes, and a root with their names and weights. Awaits `rest` before each page of a large pool. */
export async function snapshotPool(
  pool: readonly PoolNode[],
  rest: () => Promise<void> = async () => {},
): Promise<PoolSnapshot> {
  const parts = new Map<string, Bytes>()
  const write = async (lines: readonly string[]): Promise<string> => {
    const bytes = utf8(lines.join('\n'))
    const cid = await cidOf(bytes)
    parts.set(cid, bytes)
    return cid
  }
  let most = leastPageNodes
  while (most * 2 * fewestPages <= pool.length) most *= 2
  const named: string[] = []
  for (const { nodes, lines } of pagesOf(inPoolOrder(pool), most)) {
    if (pool.length > leastPageNodes) await rest()
    const cid = await write([pageHeader, ...lines])
    named.push(`${cid} ${nodes.map(({ weight }) => weight).join()}`)
  }
  return { root: await write([rootHeader, ...named]), parts }
}

type Page = { readonly nodes: readonly PoolNode[]; readonly lines: readonly string[] }

/** Splits ordered nodes at the bits of their addresses until each page has at most so many of them, and is no larger than a blob may be. */
function* pagesOf(nodes: readonly PoolNode[], most: number, bit = 0): Generator<Page> {
  if (nodes.length === 0) return
  const isLast = bit === addressBits
  if (nodes.length <= most || isLast) {
    const lines = nodes.map(lineOf)
    const bytes = lines.reduce((sum, line) => sum + line.length + 1, pageHeader.length)
    if (bytes <= maxPageBytes || isLast) return yield { nodes, lines }
  }
  const at = firstIndex(nodes.length, (index) => bitAt(nodes[index]?.address ?? '', bit) === 1)
  yield* pagesOf(nodes.slice(0, at), most, bit + 1)
  yield* pagesOf(nodes.slice(at), most, bit + 1)
}

const bitAt = (address: string, bit: number): number =>
  (Number.parseInt(address.charAt(2 + (bit >> 2)), 16) >> (3 - (bit & 3))) & 1

/** Reads a pool's nodes from its blobs, each checked against its CID. Throws SvcError `pool-snapshot-invalid`, or what `load` throws. */
export async function readPool(
  root: string,
  load: (cid: string) => Promise<Bytes>,
): Promise<{ readonly nodes: readonly PoolNode[]; readonly cids: readonly string[] }> {
  let size = 0
  const read = async (cid: string, header: string, bytes: Bytes): Promise<readonly string[]> => {
    size += bytes.length
    if (size > maxBytes) throw poolInvalid('it is too large')
    if ((await cidOf(bytes)) !== cid) {
      throw poolInvalid(`${cid} has other content than its name says`)
    }
    const [first, ...lines] = new TextDecoder('utf-8', { ignoreBOM: true })
      .decode(bytes)
      .split('\n')
    if (first !== header) throw poolInvalid(`${cid} is no part of a pool`)
    return lines
  }
  const pages = (await read(root, rootHeader, await load(root))).map(pageIn)
  if (pages.length > maxPages) throw poolInvalid('it has too many parts')
  const count = pages.reduce((sum, { weights }) => sum + weights.length, 0)
  if (count > maxNodes) throw poolInvalid('it has too many nodes')
  const nodeOf = createNodeReader()
  const groups: (readonly PoolNode[])[] = []
  for (let at = 0; at < pages.length; at += pagesAtOnce) {
    const some = pages.slice(at, at + pagesAtOnce)
    const loaded = await Promise.all(some.map(({ cid }) => load(cid)))
    // One after the other: another thread makes the digest of a large page, and this one is free meanwhile.
    for (const [index, { cid, weights }] of some.entries()) {
      const lines = await read(cid, pageHeader, loaded[index] as Bytes)
      if (lines.length !== weights.length) {
        throw poolInvalid(`${cid} has ${lines.length} nodes and ${weights.length} weights`)
      }
      groups.push(lines.map((line, n) => ({ ...nodeOf(line), weight: weights[n] as number })))
    }
  }
  const nodes = groups.flat()
  const isOrdered = nodes.every(({ address }, index) => {
    const before = nodes[index - 1]
    return before === undefined || before.address < address
  })
  if (!isOrdered) throw poolInvalid('its nodes are out of order, or there twice')
  return { nodes, cids: [root, ...pages.map(({ cid }) => cid)] }
}

/** Reads a line of the root: the name of a page, and the weights of its nodes in their order. */
function pageIn(line: string): { readonly cid: string; readonly weights: readonly number[] } {
  const [cid = '', list = '', ...rest] = line.split(' ')
  const texts = list.split(',')
  const isWeight = (text: string) => /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= maxWeight
  if (Cid.safeParse(cid).success && rest.length === 0 && texts.every(isWeight)) {
    return { cid, weights: texts.map(Number) }
  }
  throw poolInvalid(`${JSON.stringify(line.slice(0, 80))} is no part`)
}
