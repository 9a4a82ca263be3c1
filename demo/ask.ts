import { createClient } from '../lib/client/client.ts'
import type { Inference } from '../lib/client/inference.ts'
import type { InferenceStep, StepNews } from '../lib/client/steps.ts'
import { createCofheCoprocessor } from '../lib/coprocessor/cofhe.ts'
import { systemClock } from '../lib/system.ts'
import type { LocalChain } from './local-chain.ts'

/** How long the demo waits for other nodes once none is left that can do the job. */
const giveUpWhenStuckMs = 3_000

/** What each step of an inference is called in the story. */
export const stepLabels: Record<InferenceStep, string> = {
  preview: 'Asking the coordinator for a quorum',
  'seal-prompt': 'Encrypting the prompt with a new key',
  'encrypt-key': 'Encrypting both halves of the key for the coprocessor',
  'store-key': 'Storing the key on chain for the quorum only',
  upload: 'Uploading the encrypted prompt',
  submit: 'Submitting the job',
  inference: 'Leader and verifiers work',
  receipt: 'Checking the receipt and its signatures',
  'fetch-output': 'Downloading the encrypted output',
  'decrypt-output': 'Decrypting it and checking it against the evidence',
  commit: 'Checking that the receipt stands on chain',
}

/** Runs a prompt through a world as its client. */
export async function ask(
  world: { readonly chain: LocalChain; readonly icl: { readonly url: string } },
  request: {
    readonly prompt: string
    readonly model: string
    readonly onStep?: (news: StepNews) => void
    readonly signal?: AbortSignal
  },
): Promise<Inference> {
  const { rpcUrl, chainId, client: account, contracts } = world.chain
  const { prompt, ...options } = request
  const client = await createClient({
    icl: world.icl.url,
    rpcUrl,
    account,
    contracts: {
      node_registry: contracts.nodeRegistry,
      prompt_key_store: contracts.promptKeyStore,
      result_registry: contracts.resultRegistry,
    },
    coprocessor: createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock }),
    ...(options.signal && { signal: options.signal }),
  })
  return await client.infer(prompt, { ...options, giveUpWhenStuckMs })
}
