import { cidOf } from './cid.ts'
import { Address, Cid } from './codecs.ts'
import { utf8 } from './digest.ts'
import { inPoolOrder, poolLine, type Weighted } from './draw.ts'
import { SvcError } from './svc-error.ts'

type Bytes = Uint8Array<ArrayBuffer>

const leafHeader = 'svc-pool-v1'
const branchHeader = 'svc-pool-branch-v1'
const maxLeafNodes = 64
const addressDigits = 40
const maxNodes = 100_000
const maxParts = 50_000

/** A pool as blobs by their CIDs: `root` is or names all others. */
export type PoolSnapshot = { readonly root: string; readonly parts: ReadonlyMap<string, Bytes> }

/**
 * Writes a pool down. Up to 64 nodes are one blob; more are split by the digits of their addresses, so that pools that
 * differ in few nodes have most blobs in common.
 */
export async function snapshotPool(pool: readonly Weighted[]): Promise<PoolSnapshot> {
  const parts = new Map<string, Bytes>()
  const write = async (nodes: readonly Weighted[], digit: number): Promise<string> => {
    const lines: string[] = []
    const isLeaf = nodes.length <= maxLeafNodes || digit >= addressDigits
    if (isLeaf) lines.push(leafHeader, ...nodes.map(poolLine))
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

function byDigit(nodes: readonly Weighted[], digit: number): readonly (readonly Weighted[])[] {
  const groups = new Map<string | undefined, Weighted[]>()
  for (const node of nodes) {
    const key = node.address[2 + digit]
    const group = groups.get(key)
    if (group) group.push(node)
    else groups.set(key, [node])
  }
  return [...groups.values()]
}

const invalid = (why: string): SvcError =>
  new SvcError('pool-snapshot-invalid', `The pool snapshot does not hold: ${why}`, {
    hint: 'Fetch it again; if that changes nothing, whoever gave it out changed it.',
  })

/** The nodes of a pool from its blobs, each checked against its CID, and these CIDs; throws SvcError `pool-snapshot-invalid`, or what `load` throws. */
export async function readPool(
  root: string,
  load: (cid: string) => Promise<Bytes>,
): Promise<{ readonly nodes: readonly Weighted[]; readonly cids: readonly string[] }> {
  const cids: string[] = []
  let count = 0
  const read = async (cid: string, depth: number): Promise<readonly Weighted[]> => {
    if (depth > addressDigits || cids.push(cid) > maxParts) throw invalid('it has too many parts')
    const bytes = await load(cid)
    if ((await cidOf(bytes)) !== cid) throw invalid(`${cid} has other content than its name says`)
    const [header, ...lines] = new TextDecoder().decode(bytes).split('\n')
    if (header === leafHeader) {
      count += lines.length
      if (count > maxNodes) throw invalid('it has too many nodes')
      return lines.map(nodeOf)
    }
    if (header !== branchHeader) throw invalid(`${cid} is no part of a pool`)
    const parts = lines.map(cidIn)
    // Few at a time: whoever gives blobs out limits how often it is asked.
    if (depth > 0) return (await Promise.all(parts.map((part) => read(part, depth + 1)))).flat()
    const nodes: Weighted[] = []
    for (const part of parts) nodes.push(...(await read(part, depth + 1)))
    return nodes
  }
  const nodes = await read(root, 0)
  const isOrdered = nodes.every(({ address }, index) => {
    const before = nodes[index - 1]
    return before === undefined || before.address < address
  })
  if (!isOrdered) throw invalid('its nodes are out of order, or there twice')
  return { nodes, cids }
}

function nodeOf(line: string): Weighted {
  const [, address, weight] = /^(0x[0-9a-f]{40}):([1-9][0-9]{0,8})$/.exec(line) ?? []
  if (address === undefined) throw invalid(`${JSON.stringify(line.slice(0, 80))} is no node`)
  return { address: Address.parse(address), weight: Number(weight) }
}

function cidIn(line: string): string {
  const cid = Cid.safeParse(line)
  if (!cid.success) throw invalid(`${JSON.stringify(line.slice(0, 80))} is no part`)
  return cid.data
}
