import { privateKeyToAccount } from 'viem/accounts'
import { createGatewayBlobs } from '../../../lib/blobs/gateways.ts'
import { cidOf } from '../../../lib/cid.ts'
import type { ClientContext } from '../../../lib/client/context.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Address, Hash32 } from '../../../lib/codecs.ts'
import { drawNodes } from '../../../lib/draw.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { drawList, type ListSource, listSeedOf } from '../../../lib/list.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import type { PoolNode } from '../../../lib/pool-line.ts'
import { snapshotPool } from '../../../lib/pool-snapshot.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { promptText, readPrompt } from '../../../lib/prompt.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import type { JobEvent, JobView, SubmitJob } from '../../../lib/schemas/jobs.ts'
import type {
  BlockId,
  DrawnList,
  JobListView,
  ListStatement,
  SignedList,
} from '../../../lib/schemas/list.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { openOwnPrompt } from '../../../lib/sealing/envelope.ts'
import { evidenceKeyOf, jobSecretOf } from '../../../lib/sealing/job-secret.ts'
import { sealOutput } from '../../../lib/sealing/output.ts'
import { joinKey, newSealingKey, splitKey } from '../../../lib/sealing.ts'
import { statementBytes } from '../../../lib/statements.ts'
import { systemRandom } from '../../../lib/system.ts'
import { termsHash } from '../../../lib/terms.ts'
import { aHash } from '../../branded.ts'
import { countingRandom } from '../../node/fakes.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { grantOf, privateKeyOf } from '../../sample-reading.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { addressAt, makeReceipt as receiptOf, tallyKey } from '../make-receipt.ts'

/** Virtual time that passes by itself, from one wait to the next, as soon as nothing else happens: however slow the machine is, no deadline comes early. */
function runningClock(): Clock {
  const clock = createVirtualClock()
  const waits = new Set<Promise<void>>()
  let isRunning = false
  const run = async () => {
    isRunning = true
    while (waits.size > 0) await clock.until(Promise.race(waits)).catch(() => {})
    isRunning = false
  }
  return {
    now: clock.now,
    monotonic: clock.monotonic,
    sleep: (ms, signal) => {
      const wait = clock.sleep(ms, signal).finally(() => waits.delete(wait))
      waits.add(wait)
      if (!isRunning) void run()
      return wait
    },
  }
}

const ownSecret = new Uint8Array(32).fill(6)
const addressOf = (digit: number) =>
  privateKeyToAccount(
    `0x${String(digit).repeat(64)}` as `0x${string}`,
  ).address.toLowerCase() as Address

export const clientAddress = addressOf(1)
export const coordinator = addressOf(5)
/** The nodes, in the order in which they are drawn: this chain gives its keys handles for which that is so. */
export const nodes: readonly Address[] = [0, 1, 2, 3].map(addressAt)
export const pool: readonly PoolNode[] = nodes.map((address) => ({
  address,
  weight: 100,
  tiers: [0],
  models: ['openai:gpt-4o-mini'],
  comparators: ['exact', 'similar/2', 'structured/1'],
}))
const keys = new Map(
  Array.from({ length: 16 }, (_, at) => [addressAt(at), privateKeyOf(`n${at + 1}`)]),
)
const keyOf = (node: Address) => keys.get(node) ?? privateKeyOf(node)
/** The block that holds the prompt key, unless a test says otherwise. */
export const keyBlock: BlockId = { number: 7n, hash: aHash(`0x${'b7'.repeat(32)}`) }
const keyTx: Hash32 = aHash(`0x${'a0'.repeat(32)}`)
export const commitTx: Hash32 = aHash(`0x${'c0'.repeat(32)}`)

const network = sampleNetwork({
  coordinator,
  contracts: {
    node_registry: addressOf(6),
    prompt_key_store: addressOf(7),
    result_registry: addressOf(8),
  },
})

/** What to make of the world; everything goes well unless it says otherwise. */
export type FakeOptions = {
  /** Answers a decrypted prompt. */
  readonly answer?: (prompt: string) => string
  /** What the output blob holds instead of the answer that the evidence is of. */
  readonly delivered?: string
  /** Changes the receipt after it was signed. */
  readonly changeReceipt?: (receipt: Receipt) => Receipt
  /** The views that the ICL gives one after the other; the last one stays. */
  readonly views?: (accepted: JobView) => readonly Partial<JobView>[]
  /** A node has committed, so the ICL cancels no job. */
  readonly hasCommitted?: boolean
  /** Streams of events, one per connection; the last one stays open. */
  readonly streams?: readonly (readonly Partial<JobEvent>[])[]
  readonly hashOnChain?: Hash32
  readonly models?: readonly { model_id: string; nodes: number }[]
  readonly inactive?: Address
  /** Who has ever registered: those of the pool when left out. */
  readonly registered?: readonly Address[] | 'unknown'
  /** What the preview says instead of what was asked for. */
  readonly preview?: {
    readonly pool_cid?: string
    readonly model_id?: string
    readonly prompt_room_bytes?: number
  }
  /** Who is in the pool that the ICL has published. */
  readonly pool?: readonly PoolNode[]
  /** Changes the ICL's list before it is signed. */
  readonly changeList?: (list: ListStatement) => Partial<ListStatement>
  /** Changes it after. */
  readonly changeSignedList?: (list: SignedList) => Partial<SignedList>
  /** Changes what comes with it. */
  readonly changeDrawn?: (list: DrawnList) => Partial<DrawnList>
  /** The blocks in which the prompt key is, one after the other, as the client's RPC shows them; the last one stays. */
  readonly blocks?: readonly BlockId[]
  /** The one that the ICL sees; the last of `blocks` when left out. */
  readonly iclBlock?: BlockId
  /** What committing to a list comes to; at once by default. */
  readonly committing?: (signal: AbortSignal | undefined) => Promise<void>
}

type Call = { readonly name: string; readonly input: unknown; readonly options: unknown }

/** A client's surroundings in memory: a quorum that really signs, and an ICL that keeps no secrets from the test. */
export async function createFakeWorld(options: FakeOptions = {}) {
  const calls: Call[] = []
  /** The prompts as the nodes read them. */
  const prompts: PromptDocument[] = []
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>()
  const plain = new Map<bigint, bigint>()
  const iclKey = await tallyKey()
  const clock = runningClock()
  let job: { body: SubmitJob; receipt: Receipt; accepted: JobView } | undefined
  const published = await snapshotPool(options.pool ?? pool)
  for (const [cid, bytes] of published.parts) blobs.set(cid, bytes)
  const seen = [...(options.blocks ?? [keyBlock])]
  const keyTerms = new Map<bigint, Hash32>()
  let committed: { readonly commitment: Hash32; readonly used: number } | undefined
  let looks = 0
  let streams = 0
  let nextHandle = 1_000n

  const keep = async (blob: Uint8Array<ArrayBuffer>) => {
    const cid = await cidOf(blob)
    blobs.set(cid, blob)
    return cid
  }
  const storeHalf = (value: bigint) => {
    nextHandle += 1n
    plain.set(nextHandle, value)
    return nextHandle
  }
  const current = () => {
    if (job === undefined) throw new ProblemError('job-not-found', 'No such job')
    return job
  }

  const api: ClientContext['api'] = {
    getNetwork: async () => network,
    getJwks: async () => ({
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          x: iclKey.publicKey,
          kid: iclKey.thumbprint,
          alg: 'EdDSA',
          use: 'sig' as const,
        },
      ],
    }),
    getModels: async () => ({ models: [...(options.models ?? [])] }),
    previewQuorum: async (input) => {
      calls.push({ name: 'previewQuorum', input, options: undefined })
      if (options.models) throw new ProblemError('not-enough-nodes', 'Not enough')
      return {
        model_id: input.query?.model_id ?? '',
        comparator: input.query?.comparator ?? network.default_comparator,
        pool_cid: published.root,
        ...{ nodes: 4, free_nodes: 4, draws_waiting: 0, prompt_room_bytes: 2 ** 20 },
        ...options.preview,
      }
    },
    drawList: async ({ body }) => {
      calls.push({ name: 'drawList', input: body, options: undefined })
      const { terms, kpHighHandle, kpLowHandle, block_number } = body
      const block = options.iclBlock ?? seen.at(-1) ?? keyBlock
      if (block.number !== block_number) throw new ProblemError('key-unknown', 'No such key')
      const termsOfKey = keyTerms.get(kpHighHandle)
      if (termsOfKey === undefined || termsOfKey !== (await termsHash(terms))) {
        throw new ProblemError('terms-refused', 'Others')
      }
      const key: ListSource = {
        ...{ chainId: network.chain_id, store: network.contracts.prompt_key_store },
        ...{ client: clientAddress, kpHighHandle, kpLowHandle, termsHash: termsOfKey },
        blockHash: block.hash,
      }
      const statement: ListStatement = {
        ...{ statement: 'svc-list-v2', client: clientAddress, kpHighHandle, kpLowHandle, terms },
        ...{ block, passed: [], coordinator, at: 1_800_000_000 },
        list: [...drawList(key, terms, options.pool ?? pool)],
      }
      const changed = { ...statement, ...options.changeList?.(statement) }
      const signature = await iclKey.sign(statementBytes(changed))
      const signed = { body: changed, key: iclKey.publicKey, signature }
      const reading = await Promise.all(changed.list.map((node) => grantOf(keyOf(node))))
      const drawn = { ...signed, reading, ...options.changeSignedList?.(signed) }
      return { ...drawn, ...options.changeDrawn?.(drawn) }
    },
    putBlob: async ({ body }) => ({ cid: await keep(body) }),
    submitJob: async ({ body }) => {
      calls.push({ name: 'submitJob', input: body, options: undefined })
      const made = await makeReceipt(body)
      job = { body, ...made }
      return { jobId: made.receipt.jobId, status: 'open' as const, read_token: 'read-token' }
    },
    listJobs: async () => {
      const { receipt, accepted } = current()
      const { status, model_id, prompt_cid, created_at, deadline } = accepted
      const summary = { status, model_id, prompt_cid, created_at, deadline }
      return {
        jobs: [{ ...summary, jobId: receipt.jobId, read_token: 'read-token' }],
        next_cursor: null,
      }
    },
    getJob: async () => {
      const { accepted } = current()
      const views = options.views?.(accepted) ?? [accepted]
      const view = views[Math.min(looks, views.length - 1)]
      looks += 1
      return { ...accepted, ...view }
    },
    followJob: async (input, callOptions) => {
      calls.push({ name: 'followJob', input, options: callOptions })
      const { status } = current().accepted
      const all = options.streams ?? [[{ type: status, phase: status }]]
      const events = all[Math.min(streams, all.length - 1)] ?? []
      const stays = streams >= all.length - 1
      streams += 1
      const text = events.map(
        (event, index) =>
          `id: ${event.seq ?? index}\ndata: ${JSON.stringify({ seq: index, at: 1, type: 'offered', phase: 'open', ...event })}\n\n`,
      )
      const body = new ReadableStream({
        start: (controller) => {
          for (const part of text) controller.enqueue(new TextEncoder().encode(part))
          if (!stays) controller.close()
        },
      })
      return new Response(body)
    },
    getReceipt: async () => {
      const { receipt } = current()
      return options.changeReceipt?.(receipt) ?? receipt
    },
    cancelJob: async (input, callOptions) => {
      calls.push({ name: 'cancelJob', input, options: callOptions })
      if (options.hasCommitted) throw new ProblemError('too-late-to-cancel', 'It ends by itself')
      return { ...current().accepted, status: 'cancelled' as const }
    },
  }

  async function makeReceipt(body: SubmitJob) {
    const identity = {
      chainId: network.chain_id,
      client: clientAddress,
      promptCid: body.prompt_cid,
      kpHighHandle: body.kpHighHandle,
      kpLowHandle: body.kpLowHandle,
      clientNonce: body.client_nonce,
    }
    const jobId = jobIdOf(identity)
    const promptKey = joinKey({
      high: plain.get(body.kpHighHandle) ?? 0n,
      low: plain.get(body.kpLowHandle) ?? 0n,
    })
    const promptBlob = blobs.get(body.prompt_cid) ?? new Uint8Array()
    const handles = { highHandle: body.kpHighHandle, lowHandle: body.kpLowHandle }
    const secret = await jobSecretOf(ownSecret, handles)
    const of = {
      ...{ chainId: network.chain_id, store: network.contracts.prompt_key_store },
      ...{ client: clientAddress, ...handles, list: body.list.body.list },
    }
    const document = readPrompt(await openOwnPrompt(promptBlob, { key: promptKey, secret, of }))
    prompts.push(document)
    const prompt = promptText(document)
    const answer = options.answer?.(prompt) ?? `answer to ${prompt}`
    const { terms, block, list: members, passed, coordinator: activator } = body.list.body
    const { comparator } = terms
    const list: JobListView = { terms, block, members, passed, activator, until: body.until }
    const outputKey = newSealingKey(systemRandom)
    const halves = splitKey(outputKey)
    const outHandles = {
      outHighHandle: storeHalf(halves.high),
      outLowHandle: storeHalf(halves.low),
    }
    const asked = { prompt, key: await evidenceKeyOf(secret, jobId) }
    const receiptWith = (output_cid: string) =>
      receiptOf(comparator, [answer, answer, answer], {
        ...{ identity, list, asked, output: { output_cid, ...outHandles } },
      })
    // The inner seal needs the fence of the node that delivers.
    const { fence } = (await receiptWith(body.prompt_cid)).receipt.delivery.body
    const sealedOutput = { jobId, fence, key: outputKey, secret }
    const output_cid = await keep(
      await sealOutput(options.delivered ?? answer, sealedOutput, systemRandom),
    )
    const output = { output_cid, ...outHandles }
    const { receipt } = await receiptWith(output_cid)
    const { deliverer } = receipt.tally.body
    const accepted: JobView = {
      jobId,
      client: clientAddress,
      status: 'accepted',
      reason: 'quorum-agreed',
      model_id: body.model_id,
      min_tier: 0,
      list,
      prompt_cid: body.prompt_cid,
      comparator: 'exact',
      created_at: 1_800_000_000,
      deadline: 1_800_000_600,
      quorum: receipt.answers.map(({ body: { address: node, fence, position } }) => ({
        ...{ seat: position, batch: 0, position, node, fence, status: 'revealed' as const },
        ...(node === deliverer
          ? { role: 'leader' as const }
          : { role: 'verifier' as const, verdict: 'match' as const }),
      })),
      ...output,
      receipt_hash: await receiptHash(receipt),
      commit_tx: commitTx,
    }
    return { receipt, accepted }
  }

  const context: ClientContext = {
    api,
    network,
    address: clientAddress,
    chain: {
      chainId: async () => network.chain_id,
      storeKey: async (key) => {
        calls.push({ name: 'storeKey', input: key, options: undefined })
        const block = seen[0] ?? keyBlock
        for (;;) {
          const highHandle = storeHalf(key.high.ctHash)
          const lowHandle = storeHalf(key.low.ctHash)
          const seed = listSeedOf({
            ...{ chainId: network.chain_id, store: network.contracts.prompt_key_store },
            ...{ client: clientAddress, kpHighHandle: highHandle, kpLowHandle: lowHandle },
            ...{ termsHash: key.termsHash, blockHash: block.hash },
          })
          const drawn = drawNodes(seed, pool, pool.length)
          if (drawn.some((address, at) => address !== pool[at]?.address)) continue
          keyTerms.set(highHandle, key.termsHash)
          return { highHandle, lowHandle, txHash: keyTx, block }
        }
      },
      blockOf: async () => {
        if (seen.length > 1) seen.shift()
        return seen[0]
      },
      commitList: async (input, signal) => {
        calls.push({ name: 'commitList', input, options: undefined })
        await options.committing?.(signal)
        committed = { commitment: listCommitment(input.terms), used: input.mask }
      },
      endList: async (...handles) => {
        calls.push({ name: 'endList', input: handles, options: undefined })
      },
      listOf: async () => committed,
      firstReaders: async () => committed?.used,
      storedKeyAt: async (high, _, number) => {
        const block = seen[0] ?? keyBlock
        const terms = keyTerms.get(high)
        if (terms === undefined || block.number !== number) return undefined
        return { termsHash: terms, block, storedAt: 1_800_000_000 }
      },
      outputKeyOf: async () => {
        if (!job) return undefined
        const { answers, list, delivery } = job.receipt
        const deliverer = delivery.body.address
        const others = answers.flatMap(({ body: { address } }) =>
          address === deliverer ? [] : [address],
        )
        return {
          promptHighHandle: job.body.kpHighHandle,
          self: list.members.indexOf(deliverer),
          readers: [clientAddress, ...others],
        }
      },
      receiptHashIn: async () => options.hashOnChain ?? job?.accepted.receipt_hash,
      nodeOf: async (node) => ({
        staked: true,
        active: node !== options.inactive,
        modelTiers: [0],
      }),
      registeredNodes: async () => {
        if (options.registered === 'unknown') throw new Error('too many blocks')
        return options.registered ?? (options.pool ?? pool).map(({ address }) => address)
      },
      activeNodes: async (asked) => {
        calls.push({ name: 'activeNodes', input: asked, options: undefined })
        return new Set(asked.filter((node) => node !== options.inactive))
      },
      time: async () => Math.floor(clock.now() / 1000),
    },
    coprocessor: {
      // The fake's ciphertext is the half itself.
      encrypt: async (high, low) => {
        const input = { securityZone: 0, utype: 6, signature: '0x' as const }
        return { high: { ...input, ctHash: high }, low: { ...input, ctHash: low } }
      },
      decrypt: async (handle) => plain.get(handle) ?? 0n,
    },
    blobs: createGatewayBlobs({
      gateways: ['https://icl.test'],
      fetch: async (request) => {
        const blob = blobs.get(new URL(request.url).pathname.slice('/ipfs/'.length))
        return blob ? new Response(blob) : new Response(null, { status: 404 })
      },
      clock,
    }),
    secret: async () => ({ bytes: ownSecret, reopens: true }),
    clock,
    // The salt of the terms is the same each time, and with it the list.
    random: countingRandom(),
  }
  const callsOf = (name: string) => calls.filter((call) => call.name === name)
  return { context, callsOf, blobs, prompts }
}
