import { cidOf } from './cid.ts'
import { Cid } from './codecs.ts'
import { utf8 } from './digest.ts'
import { inPoolOrder } from './draw.ts'
import { lineOf, nodeOf, type PoolNode, poolInvalid } from './pool-line.ts'

type Bytes = Uint8Array<ArrayBuffer>

const leafHeader = 'svc-pool-v2'
const branchHeader = 'svc-pool-branch-v2'
const maxLeafNodes = 64
const addressDigits = 40
const maxBranches = 16
const maxNodes = 100_000
const maxParts = 50_000
// Of the most nodes, 670 bytes for each.
const maxBytes = 64 * 1_048_576

/** A pool as blobs by CID. `root` is the only blob, or leads to all others. */
export type PoolSnapshot = { readonly root: string; readonly parts: ReadonlyMap<string, Bytes> }

/** Writes a pool as blobs of up to 64 nodes, split by the digits of addresses, so that pools that differ in few nodes share most blobs. */
export async function snapshotPool(pool: readonly PoolNode[]): Promise<PoolSnapshot> {
  const parts = new Map<string, Bytes>()
  const write = async (nodes: readonly PoolNode[], digit: number): Promise<string> => {
    const lines: string[] = []
    const isLeaf = nodes.length <= maxLeafNodes || digit >= addressDigits
    if (isLeaf) lines.push(leafHeader, ...nodes.map(lineOf))
    else {
      lines.push(branchHeader)
      for (const group of byDigit(nodes, digit)) lines.push(await write(group, digit + 1))
    }
    const bytes = utf8(lines.join('\n'))
    const cid = await cidOf(bytes)
    parts.set(cid, bytes)
    return cid
  }
  return { root: await write(inPoolOrder(pool), 0), parts }
}

function byDigit(nodes: readonly PoolNode[], digit: number): readonly (readonly PoolNode[])[] {
  const groups = new Map<string | undefined, PoolNode[]>()
  for (const node of nodes) {
    const key = node.address[2 + digit]
    const group = groups.get(key)
    if (group) group.push(node)
    else groups.set(key, [node])
  }
  return [...groups.values()]
}

/** Reads a pool's nodes from its blobs, each checked against its CID. Throws SvcError `pool-snapshot-invalid`, or what `load` throws. */
export async function readPool(
  root: string,
  load: (cid: string) => Promise<Bytes>,
): Promise<{ readonly nodes: readonly PoolNode[]; readonly cids: readonly string[] }> {
  const cids: string[] = []
  let count = 0
  let size = 0
  const read = async (cid: string, depth: number): Promise<readonly PoolNode[]> => {
    if (depth > addressDigits || cids.push(cid) > maxParts)
      throw poolInvalid('it has too many parts')
    const bytes = await load(cid)
    size += bytes.length
    if (size > maxBytes) throw poolInvalid('it is too large')
    if ((await cidOf(bytes)) !== cid)
      throw poolInvalid(`${cid} has other content than its name says`)
    const [header, ...lines] = new TextDecoder().decode(bytes).split('\n')
    if (header === leafHeader) {
      count += lines.length
      if (count > maxNodes) throw poolInvalid('it has too many nodes')
      return lines.map(nodeOf)
    }
    if (header !== branchHeader) throw poolInvalid(`${cid} is no part of a pool`)
    // One for each hex digit. Few downloads at a time: blob servers limit requests, and a hostile pool could fill the memory.
    if (lines.length > maxBranches) throw poolInvalid('it has too many parts')
    const parts = lines.map(cidIn)
    if (depth === 1) return (await Promise.all(parts.map((part) => read(part, 2)))).flat()
    const nodes: PoolNode[] = []
    for (const part of parts) nodes.push(...(await read(part, depth + 1)))
    return nodes
  }
  const nodes = await read(root, 0)
  const isOrdered = nodes.every(({ address }, index) => {
    const before = nodes[index - 1]
    return before === undefined || before.address < address
  })
  if (!isOrdered) throw poolInvalid('its nodes are out of order, or there twice')
  return { nodes, cids }
}

function cidIn(line: string): string {
  const cid = Cid.safeParse(line)
  if (!cid.success) throw poolInvalid(`${JSON.stringify(line.slice(0, 80))} is no part`)
  return cid.data
}
