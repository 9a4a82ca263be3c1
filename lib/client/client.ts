import type { LocalAccount } from 'viem'
import { type Api, createApi } from '../api.ts'
import { createGatewayBlobs } from '../blobs/gateways.ts'
import { isWalletAccount } from '../chain/wallet-account.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import { Address, type JobId } from '../codecs.ts'
import { createCofheCoprocessor } from '../coprocessor/cofhe.ts'
import type { Coprocessor } from '../coprocessor/coprocessor.ts'
import type { Prover } from '../coprocessor/prover.ts'
import { fetchNetwork } from '../fetch-network.ts'
import { isExposed, mustNotBeExposed } from '../ip-address.ts'
import type { Fetch } from '../outgoing.ts'
import type { Random } from '../random.ts'
import type { WalletSigner } from '../request-signature.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import type { JobPhase, JobView } from '../schemas/jobs.ts'
import { type Network, publicOrigin } from '../schemas/network.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import type { JobRecord } from '../schemas/record.ts'
import { SvcError } from '../svc-error.ts'
import { systemClock, systemRandom } from '../system.ts'
import { systemFetch } from '../system-fetch.ts'
import { type TermsOptions, wishOf } from './choose-terms.ts'
import { createClientChain } from './client-chain.ts'
import { toClientError } from './client-error.ts'
import { type ClientContext, patient } from './context.ts'
import { getRecord } from './get-record.ts'
import { type InferOptions, infer } from './infer.ts'
import type { Inference } from './inference.ts'
import { keepPreviews } from './keep-previews.ts'
import { createKeysAhead } from './keys-ahead.ts'
import { type OpenOptions, openJob } from './open-job.ts'
import { createOwnSecret, type SecretMemory } from './own-secret.ts'
import { endList, type KeyHandles } from './prompt-key.ts'
import { createTurns } from './turns.ts'

/** Options of `createClient`. */
export type ClientOptions = {
  /** The ICL's public address. */
  readonly icl: string
  readonly rpcUrl: string
  /** Owns the prompt keys and pays for storing them: an account of viem, or `walletAccount` of a browser's wallet. */
  readonly account: LocalAccount
  /** Encrypts and decrypts key halves for that account; made from `coprocessorUrls` and `prover` when left out. */
  readonly coprocessor?: Coprocessor
  /** The coprocessor's URLs. Public networks and chain 31337 need none. */
  readonly coprocessorUrls?: CoprocessorUrls
  /** Makes the proofs of encryption on chains other than 31337. */
  readonly prover?: Prover
  /** The contracts that this client trusts. When left out, those that the ICL names: an ICL with contracts of its own could read the keys there. */
  readonly contracts?: Network['contracts']
  /** IPFS gateways that outputs are downloaded from when the ICL does not have them. */
  readonly gateways?: readonly string[]
  /** Lets a page ask a wallet once for the secret of its jobs, and not twice each time. */
  readonly secretMemory?: SecretMemory
  readonly fetch?: Fetch
  readonly clock?: Clock
  readonly random?: Random
  readonly signal?: AbortSignal
}

type CallOptions = { readonly signal?: AbortSignal }

/** A client of one ICL. */
export type Client = {
  readonly network: Network
  /** The context that the functions of single steps take. */
  readonly context: ClientContext
  /**
   * Answers a prompt. A text is one message of the user. It uses a key that was stored ahead for exactly these terms, or stores a new one.
   * Where the prompt has tools or asks for JSON, the answer is an answer document (docs/protocol.md).
   */
  readonly infer: (prompt: string | PromptDocument, options: InferOptions) => Promise<Inference>
  /**
   * Makes and stores a prompt key ahead of its job, so that the job's `infer` needs one transaction less and no proof. It costs that
   * transaction's gas now. The key is in this client's memory only, and expires when no `infer` uses it within 25 minutes.
   */
  readonly storeKeyAhead: (options: TermsOptions & CallOptions) => Promise<void>
  /** The number of keys that are stored ahead for exactly these terms. */
  readonly keysAhead: (options: TermsOptions & CallOptions) => Promise<number>
  /** The models that were served at most ten seconds ago, with the number of nodes for each. */
  readonly models: (options?: CallOptions) => Promise<Models>
  /** A page of this client's jobs, newest first. */
  readonly jobs: (
    query?: { readonly status?: JobPhase; readonly cursor?: string },
    options?: CallOptions,
  ) => Promise<JobPage>
  /** The answer of one of this wallet's jobs, also of a process that has ended: waits until the job has settled, and pays nothing. */
  readonly open: (jobId: JobId, options?: OpenOptions) => Promise<Inference>
  /** One of this client's jobs as it is now. */
  readonly job: (jobId: JobId, options?: CallOptions) => Promise<JobView>
  /** Cancels one of this client's jobs; throws SvcError `too-late-to-cancel` once a node has committed, `job-settled` once it has settled. */
  readonly cancel: (jobId: JobId, options?: CallOptions) => Promise<JobView>
  /** Ends the list of a prompt key on chain, which `cancel` does not do: no further node can get access to the prompt. */
  readonly endList: (key: KeyHandles, options?: CallOptions) => Promise<void>
  /** The record of one of this client's jobs: each node's signed statements, and how they were decided on. */
  readonly record: (jobId: JobId, options?: CallOptions) => Promise<JobRecord>
}

/** The models that an ICL serves. */
export type Models = Awaited<ReturnType<Api['getModels']>>['models']

/** A page of jobs; `next_cursor` leads to the next one. */
export type JobPage = Awaited<ReturnType<Api['listJobs']>>

const { attempts } = patient
const signingMs = 60_000
const walletDecryptTimeoutMs = 180_000

/** Connects to an ICL: fetches its contracts and limits, and checks that the RPC endpoint serves the same chain. */
export async function createClient(options: ClientOptions): Promise<Client> {
  const { icl, rpcUrl, account, gateways = [], signal } = options
  for (const [name, url] of Object.entries({ icl, rpcUrl })) checkUrl(name, url)
  const { fetch = systemFetch, clock = systemClock, random = systemRandom } = options
  const open = { baseUrl: icl, fetch, clock, random }
  const network = await fetchNetwork(createApi(open), icl, signal, attempts)
  checkContracts(network, options.contracts)
  const address = Address.parse(account.address)
  const isWallet = isWalletAccount(account)
  const signer: WalletSigner = {
    kind: 'wallet',
    address,
    chainId: network.chain_id,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
    ...(isWallet && { signingMs }),
  }
  const api = createApi({ ...open, signer })
  const chain = createClientChain({ rpcUrl, network, account })
  checkChain(await chain.chainId(signal), network)
  if (isWallet) await account.useChain(network.chain_id)
  const coprocessor =
    options.coprocessor ??
    createCofheCoprocessor({
      ...{ rpcUrl, account, clock, fetch, chainId: network.chain_id, batches: true },
      coprocessor: options.coprocessorUrls,
      prover: options.prover,
      ...(isWallet && { decryptTimeoutMs: walletDecryptTimeoutMs }),
    })
  const blobs = createGatewayBlobs({ gateways: [icl, ...gateways], fetch, clock })
  const named = { origin: publicOrigin(network), chainId: network.chain_id }
  const secret = createOwnSecret({ account, icl: named, random, memory: options.secretMemory })
  const kept = { api: keepPreviews(api, clock), network, address, chain, coprocessor, blobs }
  return clientOf({ ...kept, secret, clock, random }, api)
}

function clientOf(context: ClientContext, api: Api): Client {
  const { network } = context
  const keys = createKeysAhead(context)
  const turns = createTurns(network.limits.jobs_at_once)
  const models = keepModels(context.clock, (signal) => api.getModels({}, { signal, attempts }))
  return {
    network,
    context,
    infer: (prompt, inferOptions) => infer(context, prompt, inferOptions, { keys, turns }),
    storeKeyAhead: ({ signal, ...wanted }) => told(keys.store(wishOf(wanted), signal), signal),
    keysAhead: async ({ signal, ...wanted }) =>
      keys.count(wishOf(wanted), await told(context.chain.time(signal), signal)),
    models: async ({ signal } = {}) => (await told(models(signal))).models,
    jobs: (query = {}, { signal } = {}) => told(api.listJobs({ query }, { signal, attempts })),
    open: (jobId, openOptions) => openJob(context, jobId, openOptions),
    job: (jobId, { signal } = {}) => told(api.getJob({ params: { jobId } }, { signal, attempts })),
    cancel: (jobId, { signal } = {}) =>
      told(api.cancelJob({ params: { jobId } }, { signal, attempts })),
    endList: (key, { signal } = {}) => endList(context, key, signal),
    record: (jobId, { signal } = {}) => told(getRecord({ api, network }, jobId, signal)),
  }
}

const modelsMs = 10_000

/** Asks again only after ten seconds. */
function keepModels<T>(clock: Clock, ask: (signal?: AbortSignal) => Promise<T>) {
  let kept: { readonly models: T; readonly at: MonotonicMs } | undefined
  return async (signal?: AbortSignal): Promise<T> => {
    if (elapsedSince(clock, kept?.at) >= modelsMs) {
      const at = clock.monotonic()
      kept = { models: await ask(signal), at }
    }
    return (kept as NonNullable<typeof kept>).models
  }
}

const told = <T>(work: Promise<T>, signal?: AbortSignal): Promise<T> =>
  work.catch((error: unknown) => {
    signal?.throwIfAborted()
    throw toClientError(error)
  })

function checkUrl(name: string, url: string): void {
  // It may hold a key, so it is not shown.
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    throw new SvcError('url-invalid', `${name} is no http or https URL`, {
      hint: 'Write it as https://name.example.',
    })
  }
  if (!isExposed(url)) return
  throw new SvcError('url-exposed', `The address ${new URL(url).origin} ${mustNotBeExposed}`, {
    hint: 'Use its https address.',
  })
}

function checkChain(found: number, { chain_id: wanted }: Network): void {
  if (found === wanted) return
  throw new SvcError(
    'chain-wrong',
    `The RPC endpoint serves chain ${found}, and the ICL uses chain ${wanted}`,
    { hint: "Use an RPC endpoint of the ICL's chain." },
  )
}

function checkContracts(network: Network, trusted: Network['contracts'] | undefined): void {
  for (const [name, address] of Object.entries(trusted ?? {})) {
    const named = network.contracts[name as keyof Network['contracts']]
    if (named === Address.safeParse(address).data) continue
    throw new SvcError('contracts-wrong', `The ICL names ${named} as ${name}, and not ${address}`, {
      hint: 'Do not use this ICL, unless its operator has announced new contracts that you trust.',
    })
  }
}
