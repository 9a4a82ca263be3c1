import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { commitList } from '../../../lib/chain/key-lists.ts'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import { drawList } from '../../../lib/list.ts'
import { snapshotPool } from '../../../lib/pool-snapshot.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import { termsHash } from '../../../lib/terms.ts'
import { anAddress } from '../../branded.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { send, startTestChain, type TestChain } from '../../contracts/test-chain.ts'
import { makeReceipt, sampleList } from '../../lib/make-receipt.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { cannot, runPython, skipped } from './python.ts'

const clientIndex = 2

let folder: string
let chain: TestChain
let receipt: Receipt
let other: Receipt
let gateway: LocalServer

beforeAll(async () => {
  if (cannot) return
  folder = await mkdtemp(join(tmpdir(), 'svc-python-chain-'))
  chain = await startTestChain()
  const sample = sampleList('exact')
  const pool = sample.members.map((address) => ({
    ...{ address, weight: 100, tiers: [0], models: ['openai:test'] },
    comparators: ['exact' as const],
  }))
  const { root, parts } = await snapshotPool(pool)
  gateway = await startServer((response, { path }) => {
    const blob = parts.get(path.replace('/ipfs/', ''))
    response.writeHead(blob ? 200 : 404).end(blob)
  })
  const terms = { ...sample.terms, pool_cid: root }
  const client = anAddress(chain.addressOf(clientIndex))
  const writer = { ...chain.wallet(clientIndex), contract: chain.promptKeyStore as Hex }
  const halves = await createKeyActions(chain).encryptAs(clientIndex)
  const hash = await termsHash(terms)
  const { highHandle, lowHandle, block } = await storeKey({ ...writer, ...halves, terms: hash })
  const source = { chainId: chain.anvil.chainId, store: anAddress(chain.promptKeyStore), client }
  const handles = { kpHighHandle: highHandle, kpLowHandle: lowHandle }
  const key = { ...source, ...handles, termsHash: hash, blockHash: block.hash }
  const members = [...drawList(key, terms, pool)]
  const until = Math.floor(Date.now() / 1000) + 100_000
  const list = { ...sample, terms, block, members, until }
  const made = (changes = {}) =>
    makeReceipt('exact', ['yes', 'yes', 'yes'], {
      identity: { client, ...handles },
      list: { ...list, ...changes },
    })
  receipt = (await made()).receipt
  other = (await made({ members: members.toReversed() })).receipt
  const committed = { jobId: receipt.jobId, activator: list.activator, until, list: members }
  await commitList({ ...writer, highHandle, lowHandle, terms: committed, mask: 0b111 })
}, 60_000)
afterAll(async () => {
  if (cannot) return
  await gateway.close()
  await chain.stop()
  await rm(folder, { recursive: true })
})

const commit = async () => {
  const result = { jobId: receipt.jobId, receiptHash: await receiptHash(receipt) }
  await send(chain.wallet(1), {
    address: chain.resultRegistry,
    abi: resultRegistryAbi,
    functionName: 'commitResults',
    args: [[result]],
  })
}

/** What `svc-receipt verify` says of a receipt, check by check. */
async function verify(given: Receipt, rpc = chain.anvil.rpcUrl) {
  const path = join(folder, 'receipt.json')
  await writeFile(path, JSON.stringify(z.encode(Receipt, given)))
  const contracts = ['--result-registry', chain.resultRegistry, '--prompt-key-store']
  const flags = ['--json', '--rpc', rpc, ...contracts, chain.promptKeyStore]
  flags.push('--gateway', gateway.url)
  const ended = await runPython(['-m', 'svc_client.command', 'verify', path, ...flags])
  expect(ended.stderr).toBe('')
  const told = JSON.parse(ended.stdout) as {
    readonly verdict: string
    readonly checks: readonly { readonly name: string; readonly code?: string }[]
  }
  return {
    code: ended.code,
    verdict: told.verdict,
    failed: told.checks.flatMap(({ name, code }) => (code ? [[name, code]] : [])),
  }
}

describe.skipIf(cannot)(`svc-receipt verify --rpc${skipped}`, () => {
  it('asks ResultRegistry: nothing there yet, the very receipt, or another one', async () => {
    const early = { code: 75, verdict: 'unknown', failed: [['chain', 'not-committed']] }
    expect(await verify(receipt)).toEqual(early)
    await commit()
    expect(await verify(receipt)).toEqual({ code: 0, verdict: 'valid', failed: [] })
    const differs = [
      ['chain', 'receipt-differs'],
      ['list', 'receipt-differs'],
      ['draw', 'receipt-differs'],
    ]
    expect(await verify(other)).toEqual({ code: 1, verdict: 'invalid', failed: differs })
  })

  it('asks again an RPC that fails for a moment', async () => {
    const rpc = await startServer(async (response, { body }, count) => {
      if (count === 1) return void response.writeHead(500).end()
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(chain.anvil.rpcUrl, { method: 'POST', body, headers })
      answerJson(response, 200, await answer.json())
    })
    try {
      expect(await verify(receipt, rpc.url)).toMatchObject({ verdict: 'valid' })
    } finally {
      await rpc.close()
    }
  })

  it('does not take another server or none for the chain', async () => {
    const none = await verify(receipt, 'http://127.0.0.1:9')
    expect(none).toEqual({ code: 75, verdict: 'unknown', failed: [['rpc', 'unreachable']] })
    const elsewhere = await verify(receipt, 'http://rpc.test')
    expect(elsewhere).toMatchObject({
      verdict: 'unknown',
      failed: [['rpc', 'chain-not-local']],
    })
    const noChain = await verify(receipt, gateway.url)
    expect(noChain).toMatchObject({ verdict: 'unknown', failed: [['rpc', 'http-refused']] })
  })

  it('has the keys that the client in Python opens on the local chain', async () => {
    const open = [
      'import sys; from svc_client.coprocessor import decrypt; from svc_client.rpc import Rpc',
      'rpc = Rpc(sys.argv[1], 31337)',
      'print([decrypt(rpc, 31337, int(handle)) for handle in sys.argv[2:]])',
    ].join('\n')
    const handles = [receipt.kpHighHandle, receipt.kpLowHandle].map(String)
    const { stdout, stderr } = await runPython(['-c', open, chain.anvil.rpcUrl, ...handles])
    expect([stdout.trim(), stderr]).toEqual(['[3, 4]', ''])
  })
})
