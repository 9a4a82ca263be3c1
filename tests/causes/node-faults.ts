import { encodeErrorResult, HttpRequestError } from 'viem'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { toCoprocessorError } from '../../lib/coprocessor/cofhe-errors.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { offerModels } from '../../node/inference/models.ts'
import { nodeStopping } from '../../node/jobs/job-end.ts'
import type { RpcAnswer } from '../lib/chain/rpc-stand-in.ts'
import { modelId } from '../node/fakes.ts'
import type { JobWorld } from '../node/job-world.ts'
import { privateKeyOf, readerOf } from '../sample-reading.ts'

/** What goes wrong at a node besides its provider, the cause that it is, and what the node's log says of it. */
export type NodeFault = {
  readonly fault: string
  /** Breaks the node's surroundings. */
  readonly arrange?: (world: JobWorld, stop: AbortController) => unknown
  /** What a chain RPC answers over HTTP to the node's real adapter; the chain is one in memory when left out. */
  readonly rpc?: Readonly<Record<string, RpcAnswer>>
  readonly code: AbortReason
  readonly said: RegExp
}

const rpcError = (method: string, code: number, message: string, data?: string) => ({
  [method]: { error: { code, message, ...(data && { data }) } },
})

const coprocessorFails =
  (error: unknown): NonNullable<NodeFault['arrange']> =>
  (world) => {
    const decrypt = () => Promise.reject(toCoprocessorError(error, 'CoFHE decrypt failed'))
    world.deps = { ...world.deps, coprocessor: { ...world.coprocessor, decrypt } }
  }

const invalidHandle = encodeErrorResult({
  ...{ abi: promptKeyStoreAbi, errorName: 'InvalidHandle', args: [7n] },
})

export const nodeFaults: readonly NodeFault[] = [
  {
    fault: 'the claim gives no handles',
    arrange: ({ api, claim }) =>
      api.claimAssignment.mockResolvedValue({ ...claim, kpHighHandle: 0n }),
    code: 'key-handles-missing',
    said: /key handles are missing, the prompt cannot be decrypted \(the claim gave empty handles\)/,
  },
  {
    fault: 'a model that is not served any more',
    arrange: ({ api, claim }) =>
      api.claimAssignment.mockResolvedValue({ ...claim, model_id: 'openai:other' }),
    code: 'model-not-offered',
    said: /this node does not serve openai:other\. Put the model back into supported_model_ids/,
  },
  {
    fault: 'a provider without its key',
    arrange: async (world) => {
      const { clock, log } = world.deps
      const config = { supported_model_ids: [modelId], providers: {} }
      const { keyless: models } = await offerModels(config, {}, clock, log)
      world.deps = { ...world.deps, models }
    },
    code: 'provider-key-missing',
    said: /provider openai was not asked: OPENAI_API_KEY is not set\. Set OPENAI_API_KEY, and restart the node/,
  },
  {
    fault: 'no gateway has the prompt',
    arrange: ({ blobs }) => blobs.blobs.clear(),
    code: 'prompt-unavailable',
    said: /the prompt blob could not be fetched: .*gateway answered 404/,
  },
  {
    fault: 'a prompt sealed with another key',
    arrange: async ({ blobs, claim }) => {
      blobs.blobs.set(claim.prompt_cid, new Uint8Array(100).fill(1))
    },
    code: 'prompt-unreadable',
    said: /aborted: /,
  },
  {
    fault: 'an envelope that is not for this node',
    arrange: async (world) => {
      const { readingKey } = world.deps
      const { publicKey } = await readerOf(privateKeyOf('another'))
      Object.assign(world.deps, { readingKey: { ...readingKey, publicKey } })
    },
    code: 'envelope-invalid',
    said: /it has another key for this node/,
  },
  {
    fault: 'an RPC of the coprocessor that limits requests',
    arrange: coprocessorFails(new HttpRequestError({ url: 'http://rpc.test', status: 429 })),
    code: 'chain-rate-limited',
    said: /CoFHE decrypt failed: too many requests/,
  },
  {
    fault: 'a coprocessor that is away',
    arrange: coprocessorFails(new TypeError('fetch failed')),
    code: 'coprocessor-unavailable',
    said: /CoFHE decrypt failed/,
  },
  {
    fault: 'a wallet without gas money',
    rpc: rpcError('eth_estimateGas', -32_000, 'insufficient funds for gas * price + value'),
    code: 'wallet-empty',
    said: /the wallet cannot pay for storeKey\. Send gas money to 0x/,
  },
  {
    fault: 'a PromptKeyStore that refuses the handles',
    rpc: rpcError('eth_estimateGas', 3, 'execution reverted', invalidHandle),
    code: 'store-key-reverted',
    said: /storeKey reverted: InvalidHandle/,
  },
  {
    fault: 'a chain RPC that fails inside',
    rpc: rpcError('eth_estimateGas', -32_603, 'internal error'),
    code: 'node-chain-unavailable',
    said: /sending storeKey: the chain RPC fails inside \(internal error\)/,
  },
  {
    fault: 'an ICL that takes no blobs',
    arrange: ({ api }) => api.putBlob.mockRejectedValue(new ProblemError('unavailable', 'no room')),
    code: 'output-upload-failed',
    said: /the encrypted output could not be uploaded: The ICL refused: no room \(unavailable\)/,
  },
  {
    fault: 'a disk that is full',
    arrange: (world) => {
      const note = () => {
        throw new SvcError('journal-unwritable', 'ENOSPC', { hint: 'Make room.' })
      }
      world.deps = { ...world.deps, journal: { ...world.journal, note } }
    },
    code: 'journal-unwritable',
    said: /ENOSPC\. Make room/,
  },
  {
    fault: 'a node that stops',
    arrange: (_, stop) => stop.abort(nodeStopping()),
    code: 'node-stopping',
    said: /the node is stopping/,
  },
  {
    fault: 'a bug',
    arrange: ({ complete }) => complete.mockRejectedValue(new TypeError('x is not a function')),
    code: 'node-failed',
    said: /x is not a function/,
  },
]
