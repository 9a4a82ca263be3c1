import { describe, expect, it } from 'vitest'
import type { Uploader } from '../../icl/store/store.ts'
import type { Api } from '../../lib/api.ts'
import { fromBase64Url, toBase64Url, utf8 } from '../../lib/digest.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { claim, commitTo, deliver, deliveryOf, givenIn, offersOf, reveal } from './node-steps.ts'
import { answerJob, checkAll, delivererOf, expire, runJob } from './run-job.ts'
import { listedKey, storedKey, submit } from './test-client.ts'
import {
  attestationOf,
  beat,
  joinNode,
  modelId,
  origin,
  type TestNode,
  walletOf,
} from './test-icl.ts'

type BlobUse = Parameters<Api['putBlob']>[0]['query']

freshIcl(3)

const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }

it('a node that delivers cannot slip a delivery past the check of its output key by posting it while its turn begins', async () => {
  const job = await submit(icl)
  const { jobId } = job
  const seated = job.first.map(nodeAt)
  for (const node of seated) await commitTo(node, await claim(node), 'yes')
  const bodies = await Promise.all(seated.map((node) => deliveryOf(icl, node, jobId, [])))
  for (const node of seated.slice(1)) await reveal(node, jobId)
  const [taken, ...codes] = await Promise.all([
    codeOf(reveal(seated[0]!, jobId)),
    ...seated.flatMap((node, index) =>
      [1, 2, 3].map(() => codeOf(node.api.postResult({ body: bodies[index]! }))),
    ),
  ])
  expect(taken).toBeUndefined()
  for (const code of codes) expect(['not-your-turn', 'output-key-unreadable']).toContain(code)
  const { agreement } = (await icl.deps.store.findJob(jobId))!.document
  expect(agreement?.turns.map(({ delivery }) => delivery)).toEqual([undefined])
})

describe('a client', () => {
  it('gets one job out of a stored key, whatever it submits with it', async () => {
    const { api, body } = await submit(icl, { client: 'greedy' })
    const again = { ...body, client_nonce: 2n }
    expect(await codeOf(api.submitJob({ body: again }))).toBe('key-used')
    const other = { ...body, prompt_cid: `bafkrei${'c'.repeat(51)}a` }
    expect(await codeOf(api.submitJob({ body: other }))).toBe('key-used')
  })

  it('cannot occupy the pool with jobs whose lists it never commits to', async () => {
    const hoard = () => submit(icl, { client: 'hoarder', commit: false })
    for (let count = 0; count < 4; count++) await hoard()
    // What is let go ahead is twice what the nodes do at once, for 20 s.
    expect(await codeOf(hoard())).toBe('draw-queued')
    expect(await icl.api().previewQuorum({ query })).toMatchObject({ nodes: 3, free_nodes: 3 })
    await icl.clock.advance(21_000)
    expect(await codeOf(submit(icl, { client: 'other' }))).toBeUndefined()
  })

  it('cannot overload nodes, nor cost them their standing, by committing to many lists at once', async () => {
    const jobs = []
    for (let count = 0; count < 8; count++) {
      if (count === 4) await icl.clock.advance(21_000)
      jobs.push(await submit(icl, { client: 'hoarder', commit: false }))
    }
    for (const { commit } of jobs) commit()
    await icl.clock.advance(12_000)
    for (const node of nodes) expect(await offersOf(node)).toHaveLength(2)
    await icl.clock.advance(8_000)
    const scores = nodes.map(async ({ address }) => {
      const { metrics } = await icl.api().getNode({ params: { address } })
      return metrics.reputation_score
    })
    // Only what was offered, and could have been taken, lapses.
    for (const score of await Promise.all(scores)) expect(score).toBeGreaterThanOrEqual(98)
  })
})

describe('the room for blobs', () => {
  const mebibyte = (fill: number) => new Uint8Array(1024 * 1024).fill(fill).fill(1, 0, 1)
  const prompt = (fill: number) => new Uint8Array(32 * 1024).fill(fill).fill(1, 0, 1)
  const wallet = walletOf('w').signer
  const put = (as: RequestSigner, uses: BlobUse, body: Uint8Array<ArrayBuffer>) =>
    codeOf(icl.api(as).putBlob({ query: uses, body }))
  const bytesOf = (uploader: Uploader) => icl.deps.store.countBlobBytes(uploader)

  /** Has a job answered: one of its nodes may upload an output now. */
  async function agree(client: string) {
    const { jobId, seated } = await answerJob(icl, nodes, ['yes', 'yes', 'yes'], { client })
    const deliverer = (await delivererOf(seated, jobId))!
    const { fence } = givenIn(deliverer, jobId).claimed
    const checker = seated.find((node) => node !== deliverer)!
    return { deliverer, checker, turn: { jobId, fence } }
  }

  it('has not one byte for a node whose turn it is not to deliver', async () => {
    const outsider = await joinNode(icl, 'attested only')
    icl.chain.nodes.delete(outsider.address)
    const body = prompt(1)
    const working = await submit(icl, { client: 'other' })
    const worker = nodeAt(working.leader)
    const { fence: early } = await claim(worker)
    const beforeAnswers = await put(worker.signer, { jobId: working.jobId, fence: early }, body)
    const { deliverer, checker, turn } = await agree('client')
    const { jobId, fence } = turn
    expect([
      beforeAnswers,
      await put(outsider.signer, {}, body),
      await put(outsider.signer, storedKey(icl, outsider.name), body),
      await put(outsider.signer, turn, body),
      await put(checker.signer, turn, body),
      await put(checker.signer, { jobId, fence: givenIn(checker, jobId).claimed.fence }, body),
      await put(deliverer.signer, { jobId, fence: fence + 9 }, body),
      await put(deliverer.signer, { jobId: aJobId(`0x${'7'.repeat(64)}`), fence }, body),
    ]).toEqual([
      'not-your-turn',
      'invalid-query',
      'invalid-query',
      'not-assigned',
      'stale-fence',
      'not-your-turn',
      'stale-fence',
      'job-not-found',
    ])
    await expire(icl)
    expect(await put(deliverer.signer, turn, body)).toBe('job-settled')
    expect(await bytesOf('node')).toBe(0)
  })

  /** The same, until such a node delivers. */
  async function turnOf(isWanted: (deliverer: TestNode) => boolean) {
    for (let count = 1; ; count++) {
      const found = await agree(`client ${count}`)
      if (isWanted(found.deliverer)) return found
      await deliver(icl, found.deliverer, found.turn.jobId)
      await checkAll(nodes, found.turn.jobId)
    }
  }

  it('has not one byte for a wallet without a key of its own that it has just stored', async () => {
    const own = storedKey(icl, 'w')
    const body = prompt(1)
    expect([
      await put(wallet, {}, body),
      await put(wallet, { ...own, kpLowHandle: 1n }, body),
      await put(wallet, storedKey(icl, 'another'), body),
    ]).toEqual(['invalid-query', 'key-unknown', 'key-unknown'])
    await icl.clock.jump(2_401_000)
    expect(await put(wallet, own, body)).toBe('key-expired')
    expect(await bytesOf('wallet')).toBe(0)
  })

  it('has room for one blob of each key and each fence, which may come again', async () => {
    const { deliverer, turn } = await agree('client')
    for (const [signer, uses] of [
      [wallet, storedKey(icl, 'w')],
      [deliverer.signer, turn],
    ] as const) {
      for (const fill of [1, 1]) expect(await put(signer, uses, prompt(fill))).toBeUndefined()
      expect(await put(signer, uses, prompt(2))).toBe('too-many-blobs')
    }
    expect(await put(wallet, storedKey(icl, 'w'), prompt(3))).toBeUndefined()
  })

  it('is not for what anybody could read: a text that nobody sealed, or half a seal', async () => {
    const { deliverer, turn } = await agree('client')
    for (const [signer, uses] of [
      [wallet, storedKey(icl, 'w')],
      [deliverer.signer, turn],
    ] as const) {
      for (const body of [
        utf8('What is a lighthouse for, and who pays?'),
        prompt(1).slice(0, 28),
      ]) {
        expect(await put(signer, uses, body)).toBe('blob-invalid')
      }
      expect(await put(signer, uses, prompt(1))).toBeUndefined()
    }
  })

  it('takes no prompt while the chain is away', async () => {
    const own = storedKey(icl, 'w')
    icl.chain.down = new SvcError('chain-unavailable', 'away', { hint: '', retryable: true })
    expect(await icl.clock.until(put(wallet, own, prompt(1)))).toBe('chain-unavailable')
  })

  it('has a share for each wallet and each node in an hour', async () => {
    const own = (fill: number) => put(wallet, storedKey(icl, 'w'), mebibyte(fill))
    expect([await own(1), await own(2)]).toEqual([undefined, 'unavailable'])
    const other = walletOf('other').signer
    expect(await put(other, storedKey(icl, 'other'), mebibyte(3))).toBeUndefined()
    const first = await agree('one')
    expect(await put(first.deliverer.signer, first.turn, mebibyte(10))).toBeUndefined()
    // One node leaves the room of the others alone.
    const again = await turnOf((deliverer) => deliverer === first.deliverer)
    expect(await put(again.deliverer.signer, again.turn, mebibyte(11))).toBe('unavailable')
    const second = await turnOf((deliverer) => deliverer !== first.deliverer)
    expect(await put(second.deliverer.signer, second.turn, mebibyte(12))).toBeUndefined()
    await icl.clock.jump(3_600_000)
    expect(await own(4)).toBeUndefined()
  })
})

describe('a node', () => {
  it('is offered no more than it can run, whatever it is offered while it beats', async () => {
    await submit(icl, { client: 'one' })
    await submit(icl, { client: 'two' })
    await icl.clock.advance(1_000)
    for (const node of nodes) await beat(icl, node, 2)
    expect(await icl.api().previewQuorum({ query })).toMatchObject({ nodes: 3, free_nodes: 0 })
    const { list } = await listedKey(icl, { client: 'three' })
    expect(list.body.passed.map(({ reason }) => reason)).toEqual(['busy', 'busy', 'busy'])
  })

  it('is not silenced by one heartbeat from a clock that is far ahead', async () => {
    const [node] = nodes
    const send = (timestamp: number) =>
      node!.api.postHeartbeat({
        body: {
          operator_address: node!.address,
          timestamp,
          version: '1',
          free_slots: 2,
          supported_model_ids: [modelId],
        },
      })
    await send(99_999_999_999)
    await icl.clock.jump(62_000)
    expect((await send(Math.floor(icl.clock.now() / 1000))).status).toBe('ok')
  })

  it('cannot use a challenge again under another spelling', async () => {
    const { address, signer } = walletOf('n1')
    const api = icl.api(signer)
    const { nonce } = await api.getChallenge({ params: { address } })
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(4))
    const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
    await api.verifyAttestation({ body: await attestationOf('n1', nonce, key, notAfter) })
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    let tried = 0
    for (const last of letters) {
      const other = nonce.slice(0, -1) + last
      if (toBase64Url(fromBase64Url(other)) !== nonce) continue
      tried++
      const body = await attestationOf('n1', other, key, notAfter)
      const code = await codeOf(api.verifyAttestation({ body }))
      expect(code).toBe(other === nonce ? 'challenge-used' : 'request-invalid')
    }
    expect(tried).toBe(4)
  })
})

describe('while the chain is away', () => {
  const away = new SvcError('chain-unavailable', 'the chain is away', { hint: '' })

  it('previews say so instead of finding no nodes', async () => {
    icl.chain.down = away
    expect(await codeOf(icl.api().previewQuorum({ query }))).toBe('chain-unavailable')
    expect(await codeOf(icl.api().getModels())).toBe('chain-unavailable')
  })

  it('a tie waits for it instead of ending as a dispute', async () => {
    nodes.push(await joinNode(icl, 'n4'))
    const { job, view } = await answerJob(icl, nodes, ['yes', 'yes', 'no'])
    icl.chain.down = away
    await icl.clock.advance(2_000)
    expect((await view()).status).toBe('running')
    icl.chain.down = undefined
    await icl.clock.advance(2_000)
    const { document } = (await icl.deps.store.findJob(job.jobId))!
    expect(document.assignments).toHaveLength(4)
  })
})

it('jobs whose access takes long do not hold up the rest, nor their own end', async () => {
  const { isAllowed } = icl.chain
  const slow = await submit(icl, { client: 'slow', commit: false })
  let answer = () => {}
  const hangs = new Promise<boolean>((resolve) => {
    answer = () => resolve(false)
  })
  icl.chain.isAllowed = (handle, account) =>
    handle === slow.body.kpHighHandle ? hangs : isAllowed(handle, account)
  await icl.clock.advance(2_000)
  const quick = await submit(icl, { client: 'quick' })
  expect(await offersOf(nodeAt(quick.leader))).toHaveLength(1)
  await icl.clock.advance(600_000)
  await icl.clock.advance(500)
  const view = await slow.api.getJob(
    { params: { jobId: slow.jobId } },
    { readToken: slow.readToken },
  )
  expect(view.status).toBe('expired')
  answer()
})

it('an activation that the chain refuses moves the seat on and says why', async () => {
  nodes.push(await joinNode(icl, 'n4'))
  icl.chain.refusesGrants = true
  const job = await submit(icl)
  const leader = nodeAt(job.leader)
  const { jobId, fence } = await claim(leader)
  await leader.api.abortAssignment({ body: { jobId, fence, reason: 'provider-refused' } })
  await icl.clock.advance(1_500)
  const view = await job.api.getJob({ params: { jobId } }, { readToken: job.readToken })
  expect(view.quorum.map(({ reason }) => reason)).toContain('grant-refused')
})

it('a commitment that is not deep yet is not sent again', async () => {
  icl.chain.shallow = true
  const { view } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
  await icl.clock.advance(20_000)
  expect((await view()).commit_tx).toBeUndefined()
  icl.chain.shallow = false
  await icl.clock.advance(3_000)
  expect((await view()).commit_tx).toMatch(/^0x/)
  expect(icl.chain.committed).toHaveLength(1)
})

describe('requests that are not what they should be', () => {
  it('never make the ICL fail', async () => {
    for (const path of [
      '/v1/nodes/active?cursor=A',
      '/v1/nodes/active?cursor=%00',
      '//evil.test/health',
      '/v1/nodes/%2e%2e',
      '/ipfs/%00',
    ]) {
      const { status } = await icl.fetch(new Request(origin + path))
      expect([path, status < 500]).toEqual([path, true])
    }
  })

  it('are asked who they are before they are told what is wrong with them', async () => {
    for (const [method, path] of [
      ['GET', '/internal/assignments/zzz'],
      ['GET', '/internal/task/1'],
      ['POST', '/internal/heartbeat'],
      ['POST', '/internal/task/claim'],
      ['GET', '/v1/inference/zzz'],
    ] as const) {
      const { status } = await icl.fetch(new Request(origin + path, { method }))
      expect([path, status]).toEqual([path, 401])
    }
  })

  it('a HEAD of a stream holds nothing', async () => {
    const job = await submit(icl)
    const path = `/v1/inference/${job.jobId}/events`
    const headers = { authorization: `Bearer ${job.readToken}` }
    const response = await icl.fetch(new Request(origin + path, { method: 'HEAD', headers }))
    expect([response.status, response.body]).toEqual([200, null])
  })
})
