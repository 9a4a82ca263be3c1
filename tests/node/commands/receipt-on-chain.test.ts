import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { commitList } from '../../../lib/chain/key-lists.ts'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { drawList } from '../../../lib/list.ts'
import { snapshotPool } from '../../../lib/pool-snapshot.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import type { JobListView } from '../../../lib/schemas/list.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import { termsHash } from '../../../lib/terms.ts'
import type { Given } from '../../../node/commands/options.ts'
import { aHash, anAddress } from '../../branded.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { send, startTestChain } from '../../contracts/test-chain.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { makeReceipt, sampleList } from '../../lib/make-receipt.ts'
import { startStubChain } from '../stub-chain.ts'
import { checkFile, quietContext } from './context.ts'

const clientIndex = 2
const gateway = 'https://gateway.test'

/** A receipt of the key on chain, with another list if a test wants one. */
const receiptWith = async (changes: Partial<JobListView> = {}) => {
  const client = anAddress(chain.addressOf(clientIndex))
  const made = await makeReceipt('exact', ['yes', 'yes', 'yes'], {
    identity: { client, kpHighHandle: stored.highHandle, kpLowHandle: stored.lowHandle },
    list: { ...list, ...changes },
  })
  return made.receipt
}

const folder = await mkdtemp(join(tmpdir(), 'svc-receipt-chain-'))
const chain = await startTestChain()
const sample = sampleList('exact')
const pool = sample.members.map((address) => ({
  ...{ address, weight: 100, tiers: [0], models: ['openai:test'] },
  comparators: ['exact' as const],
}))
const { root, parts } = await snapshotPool(pool)
const blobs = parts
const terms = { ...sample.terms, pool_cid: root }
const writer = { ...chain.wallet(clientIndex), contract: chain.promptKeyStore as Hex }
const halves = await createKeyActions(chain).encryptAs(clientIndex)
const hash = await termsHash(terms)
const stored = await storeKey({ ...writer, ...halves, terms: hash })
const { highHandle, lowHandle, block } = stored
const members = drawList(
  {
    ...{ chainId: chain.anvil.chainId, store: anAddress(chain.promptKeyStore) },
    ...{ client: anAddress(chain.addressOf(clientIndex)), termsHash: hash },
    ...{ kpHighHandle: highHandle, kpLowHandle: lowHandle, blockHash: block.hash },
  },
  terms,
  pool,
)
const until = Math.floor(Date.now() / 1000) + 100_000
const list: JobListView = { ...sample, terms, block, members: [...members], until }
const receipt = await receiptWith()
const { jobId } = receipt
const committed = { jobId, activator: list.activator, until, list: members }
await commitList({ ...writer, highHandle, lowHandle, terms: committed, mask: 0b111 })
afterAll(async () => {
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

/** What `receipt verify` prints of a receipt, and its exit code. */
async function run(given: Receipt, changes: Partial<Given<'receipt'>> = {}, pool = blobs) {
  const path = join(folder, 'receipt.json')
  await writeFile(path, JSON.stringify(z.encode(Receipt, given)))
  const context = quietContext(
    {},
    {
      fetch: async ({ url }) => {
        const blob = pool.get(url.replace(`${gateway}/ipfs/`, ''))
        return blob ? new Response(blob) : new Response(null, { status: 404 })
      },
    },
  )
  const { resultRegistry, promptKeyStore, anvil } = chain
  const flags = { rpc: [anvil.rpcUrl], resultRegistry, promptKeyStore, gateway, ...changes }
  return { code: await checkFile(path, flags, context), printed: context.printed }
}

/** The same, check by check. */
async function verify(given: Receipt, changes: Partial<Given<'receipt'>> = {}, pool = blobs) {
  const { code, printed } = await run(given, { ...changes, json: true }, pool)
  const told = JSON.parse(printed.join('')) as {
    readonly verdict: string
    readonly rpc_hosts: readonly string[]
    readonly not_checked: readonly string[]
    readonly checks: readonly Check[]
  }
  const checkOf = (name: string) => told.checks.find((check) => check.name === name)
  return { code, ...told, list: checkOf('list'), draw: checkOf('draw'), chain: checkOf('chain') }
}

describe('svc-node receipt verify --rpc', () => {
  it('asks ResultRegistry: nothing there yet, the very receipt, or another one', async () => {
    const early = await verify(receipt)
    expect([early.code, early.verdict]).toEqual([75, 'unknown'])
    expect(early.checks.map(({ status }) => status)).toEqual([
      ...['ok', 'ok', 'skipped'],
      ...['failed', 'ok', 'ok'],
    ])
    await commit()
    const { code, verdict, not_checked, checks } = await verify(receipt)
    expect([code, verdict]).toEqual([0, 'valid'])
    expect(checks.every(({ name, status }) => name === 'acks' || status === 'ok')).toBe(true)
    expect(not_checked).toEqual([
      `that ${new URL(chain.anvil.rpcUrl).host} tells the truth about the chain`,
      'that the tally is signed by the ICL (--icl-key)',
      expect.stringContaining('--with'),
      'that its nodes have a stake, and that its pool left none out',
    ])
    // The chain commits to a job once: another receipt of it has come too late.
    const other = await receiptWith({ passed: [{ position: 3, reason: 'busy', at: 1 }] })
    expect(await verify(other)).toMatchObject({
      ...{ code: 1, verdict: 'invalid', list: { status: 'ok' } },
      chain: { status: 'failed', detail: expect.stringContaining('another receipt hash') },
    })
  })

  it('believes an RPC with a chain of its own about all but signatures, names it, and refuses if an honest one differs', async () => {
    // The receipt was made by the test. Only the chain of the liar holds it.
    const honest = await startTestChain()
    try {
      expect(honest.promptKeyStore).toBe(chain.promptKeyStore)
      const [liar, other] = [chain.anvil.rpcUrl, honest.anvil.rpcUrl]
      const hosts = [new URL(liar).host, new URL(other).host]
      const believed = await verify(receipt, { rpc: [`${liar}/?key=secret`] })
      expect(believed).toMatchObject({ code: 0, verdict: 'valid', rpc_hosts: [hosts[0]] })
      const [first, ...rest] = receipt.answers
      const body = { ...first!.body, max_output_tokens: 7 }
      const forged = { ...receipt, answers: [{ ...first!, body }, ...rest] }
      expect(await verify(forged, { rpc: [liar] })).toMatchObject({ code: 1, verdict: 'invalid' })
      for (const rpc of [
        [liar, other],
        [other, liar],
      ]) {
        const asked = await verify(receipt, { rpc })
        expect(asked).toMatchObject({ code: 1, verdict: 'invalid', draw: { status: 'skipped' } })
        expect(asked.not_checked[0]).toBe(
          `that ${rpc.map((url) => new URL(url).host).join(' and ')} tell the truth about the chain`,
        )
        const failed = asked.checks.filter(({ status }) => status === 'failed')
        expect(failed.map(({ name, detail }) => [name, detail.split(': ')[0]])).toEqual([
          ['chain', hosts[1]],
          ['list', hosts[1]],
        ])
      }
    } finally {
      await honest.stop()
    }
  })

  it('is not valid when one of its RPCs does not answer, and that one is named', async () => {
    const asked = await verify(receipt, { rpc: [chain.anvil.rpcUrl, 'http://127.0.0.1:9'] })
    expect(asked).toMatchObject({ code: 75, verdict: 'unknown' })
    const failed = asked.checks.filter(({ status }) => status === 'failed')
    expect(failed.map(({ detail }) => detail)).toEqual(
      ['127.0.0.1:9: ', '127.0.0.1:9: '].map((host) => expect.stringContaining(host)),
    )
  })

  it('tells people whom they believe', async () => {
    const { printed } = await run(receipt, {
      rpc: [chain.anvil.rpcUrl, `${chain.anvil.rpcUrl}/?key=secret`],
    })
    const { host } = new URL(chain.anvil.rpcUrl)
    expect(printed.at(-1)).toBe(
      `The receipt is valid if ${host} tells the truth: it is consistent, and the chain holds its hash and its list.`,
    )
    expect(printed.join()).not.toContain('secret')
  })

  it('is not known of a chain that does not answer', async () => {
    const away = await verify(receipt, { rpc: ['http://127.0.0.1:9'] })
    expect(away).toMatchObject({ code: 75, verdict: 'unknown', draw: { status: 'skipped' } })
    expect([away.chain?.status, away.list?.status]).toEqual(['failed', 'failed'])
  })

  it('is not known with an address of another contract, or of none, and its flag is named', async () => {
    for (const wrong of [chain.promptKeyStore, `0x${'de'.repeat(20)}`]) {
      const asked = await verify(receipt, { resultRegistry: anAddress(wrong) })
      expect(asked).toMatchObject({ code: 75, chain: { remedy: 'Check --result-registry.' } })
    }
    const { list } = await verify(receipt, { promptKeyStore: chain.resultRegistry })
    expect(list?.remedy).toBe('Check --prompt-key-store.')
  })

  it('is not known of the RPC of another chain', async () => {
    const other = await startStubChain(5)
    try {
      const asked = await verify(receipt, { rpc: [other.url] })
      expect(asked).toMatchObject({ code: 75, verdict: 'unknown' })
      expect(asked.chain?.remedy).toContain('--rpc')
    } finally {
      await other.close()
    }
  })

  it('says what it did not check without a gateway, or with the contracts of the ICL', async () => {
    const { draw, not_checked } = await verify(receipt, { gateway: undefined })
    expect(draw).toMatchObject({ status: 'skipped', detail: 'no --gateway was given' })
    expect(not_checked.join()).toContain('drawn from the pool of its terms (--rpc and --gateway)')
    const asked = await verify(receipt, { promptKeyStore: undefined })
    expect(asked.not_checked.join()).toContain('--prompt-key-store')
    expect(asked.list).toMatchObject({ status: 'failed' })
  })

  it('refuses a list that the client has not committed to', async () => {
    const changes: readonly Partial<JobListView>[] = [
      { members: list.members.toReversed() },
      { members: list.members.slice(0, -1) },
      { activator: nodeAddress('7') },
      { until: list.until + 1 },
    ]
    for (const change of changes) {
      expect(await verify(await receiptWith(change))).toMatchObject({
        ...{ code: 1, verdict: 'invalid' },
        list: { detail: expect.stringContaining('has committed to another list, job, activator') },
        draw: { status: 'skipped' },
      })
    }
  })

  it('refuses terms, a block, or an owner that are not those on chain', async () => {
    const { terms, block } = list
    const cases: readonly [Partial<JobListView>, string][] = [
      [{ terms: { ...terms, salt: 'A'.repeat(43) } }, 'was stored under other terms'],
      [{ block: { ...block, hash: aHash(`0x${'1'.repeat(64)}`) } }, 'has another hash'],
      [{ block: { ...block, number: block.number + 1n } }, 'stored no such key'],
    ]
    for (const [change, why] of cases) {
      expect(await verify(await receiptWith(change))).toMatchObject({
        ...{ code: 1, list: { status: 'failed', detail: expect.stringContaining(why) } },
      })
    }
    const { receipt: anothers } = await makeReceipt('exact', ['yes', 'yes', 'yes'], {
      identity: { kpHighHandle: stored.highHandle, kpLowHandle: stored.lowHandle },
      list,
    })
    expect(await verify(anothers)).toMatchObject({
      list: { detail: expect.stringContaining(`stored no such key of ${anothers.client}`) },
    })
  })

  it('refuses a key whose client has committed to no list', async () => {
    const writer = { ...chain.wallet(clientIndex), contract: chain.promptKeyStore as Hex }
    const halves = await createKeyActions(chain).encryptAs(clientIndex)
    const key = await storeKey({ ...writer, ...halves, terms: await termsHash(list.terms) })
    const { receipt: uncommitted } = await makeReceipt('exact', ['yes', 'yes', 'yes'], {
      identity: {
        client: anAddress(chain.addressOf(clientIndex)),
        ...{ kpHighHandle: key.highHandle, kpLowHandle: key.lowHandle },
      },
      list: { ...list, block: key.block },
    })
    expect(await verify(uncommitted)).toMatchObject({
      list: { detail: expect.stringContaining('has committed to no list') },
    })
  })

  it('cannot draw again from a pool that nobody has, and refuses one that was changed', async () => {
    const gone = await verify(receipt, {}, new Map())
    expect(gone).toMatchObject({ code: 75, draw: { status: 'failed', retryable: true } })
    const changed = new Map([...blobs].map(([cid, bytes]) => [cid, bytes.with(-1, 1)] as const))
    expect((await verify(receipt, {}, changed)).draw?.status).toBe('failed')
  })
})
