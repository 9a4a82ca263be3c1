import { type Client, createClient } from '../lib/client/client.ts'
import type { Inference } from '../lib/client/inference.ts'
import type { StepNews } from '../lib/client/steps.ts'
import type { CheckId, ComparatorId } from '../lib/codecs.ts'
import { createCofheCoprocessor } from '../lib/coprocessor/cofhe.ts'
import { createProcessProver } from '../lib/host/coprocessor/process-prover.ts'
import type { JobEvent } from '../lib/schemas/jobs.ts'
import type { AgreementRule } from '../lib/schemas/terms.ts'
import { systemClock } from '../lib/system.ts'
import type { LocalChain } from './local-chain.ts'

/** How long the client waits for another node when none is left that can do the job. */
const giveUpWhenStuckMs = 3_000

type AskedWorld = { readonly chain: LocalChain; readonly icl: { readonly url: string } }

/** Runs a prompt through a world as its client. */
export async function ask(
  world: AskedWorld,
  request: {
    readonly prompt: string
    readonly model: string
    readonly comparator?: ComparatorId
    readonly check?: CheckId
    readonly verifierCount?: number
    readonly rule?: AgreementRule
    readonly onStep?: (news: StepNews) => void
    readonly onEvent?: (event: JobEvent) => void
    readonly signal?: AbortSignal
  },
): Promise<Inference> {
  const { prompt, ...options } = request
  const client = await clientOf(world, options.signal)
  return await client.infer(prompt, { ...options, giveUpWhenStuckMs })
}

/** Makes the client of a world. */
export function clientOf({ chain, icl }: AskedWorld, signal?: AbortSignal): Promise<Client> {
  const { rpcUrl, chainId, client: account, contracts, coprocessor } = chain
  return createClient({
    icl: icl.url,
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
    ...(signal && { signal }),
  })
}
