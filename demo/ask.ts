import { createClient } from '../lib/client/client.ts'
import type { Inference } from '../lib/client/inference.ts'
import type { StepNews } from '../lib/client/steps.ts'
import type { ComparatorId } from '../lib/codecs.ts'
import { createCofheCoprocessor } from '../lib/coprocessor/cofhe.ts'
import { createProcessProver } from '../lib/host/coprocessor/process-prover.ts'
import type { JobEvent } from '../lib/schemas/jobs.ts'
import type { AgreementRule } from '../lib/schemas/terms.ts'
import { systemClock } from '../lib/system.ts'
import type { LocalChain } from './local-chain.ts'

/** How long the demo waits for other nodes once none is left that can do the job. */
const giveUpWhenStuckMs = 3_000

/** Runs a prompt through a world as its client. */
export async function ask(
  world: { readonly chain: LocalChain; readonly icl: { readonly url: string } },
  request: {
    readonly prompt: string
    readonly model: string
    readonly comparator?: ComparatorId
    readonly rule?: AgreementRule
    readonly onStep?: (news: StepNews) => void
    readonly onEvent?: (event: JobEvent) => void
    readonly signal?: AbortSignal
  },
): Promise<Inference> {
  const { rpcUrl, chainId, client: account, contracts, coprocessor } = world.chain
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
    coprocessor: createCofheCoprocessor({
      rpcUrl,
      chainId,
      account,
      clock: systemClock,
      coprocessor,
      prover: createProcessProver({ clock: systemClock }),
    }),
    ...(options.signal && { signal: options.signal }),
  })
  return await client.infer(prompt, { ...options, giveUpWhenStuckMs })
}
