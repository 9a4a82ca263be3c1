import { readFile } from 'node:fs/promises'
import { hexToBytes } from 'viem'
import type { World } from '../../demo/world.ts'
import { openStore } from '../../icl/start/open-store.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import type { Place } from './leak-search.ts'

/** Every transaction and every event of the world's chain. */
export async function chainPlaces({ chain }: World): Promise<readonly Place[]> {
  const { publicClient } = createChainReader(chain)
  const places: Place[] = []
  const latest = await publicClient.getBlockNumber()
  for (let blockNumber = 0n; blockNumber <= latest; blockNumber++) {
    const block = await publicClient.getBlock({ blockNumber, includeTransactions: true })
    for (const { hash, input, to } of block.transactions) {
      places.push({ name: `transaction ${hash} to ${to}`, bytes: hexToBytes(input) })
    }
  }
  for (const log of await publicClient.getLogs({ fromBlock: 0n, toBlock: 'latest' })) {
    const bytes = Buffer.concat([log.data, ...log.topics].map((part) => hexToBytes(part)))
    places.push({ name: `event of ${log.transactionHash}`, bytes })
  }
  return places
}

/** The blobs with these CIDs as anyone can download them. */
export const blobLocations = ({ icl }: World, cids: readonly string[]): Promise<readonly Place[]> =>
  Promise.all(
    cids.map(async (cid) => {
      const response = await fetch(`${icl.url}/ipfs/${cid}`)
      if (!response.ok) throw new Error(`No blob ${cid}: ${response.status}`)
      return { name: `blob ${cid}`, bytes: new Uint8Array(await response.arrayBuffer()) }
    }),
  )

/** The logs of the ICL and the nodes and, after its end, all that the ICL had stored. */
export async function iclPlaces({ icl, nodes }: World): Promise<readonly Place[]> {
  // Nodes first: their waiting requests would keep the ICL from ending.
  for (const { process } of [...nodes, icl]) {
    process.kill('SIGTERM')
    await process.exited
  }
  const logs = nodes.map(async ({ address, process }) => ({
    name: `the log of node ${address}`,
    bytes: await readFile(process.logFile),
  }))
  return [
    ...(await Promise.all(logs)),
    { name: 'the log of the ICL', bytes: await readFile(icl.process.logFile) },
    { name: 'the store of the ICL', bytes: await storeBytes(icl.databaseUrl) },
  ]
}

/** Every record as text; blobs are searched as they are downloaded. */
async function storeBytes(databaseUrl: string): Promise<Uint8Array> {
  const store = await openStore(databaseUrl)
  const lines: string[] = []
  for await (const record of store.scan()) {
    lines.push(
      JSON.stringify(record, (_, value: unknown) => {
        if (typeof value === 'bigint') return value.toString()
        return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
      }),
    )
  }
  await store.close()
  if (lines.length === 0) throw new Error('The store of the ICL is empty')
  return Buffer.from(lines.join('\n'))
}
