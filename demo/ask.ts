import { type Client, createClient } from '../lib/client/client.ts'
import type { InferOptions } from '../lib/client/infer.ts'
import type { Inference } from '../lib/client/inference.ts'
import { createCofheCoprocessor } from '../lib/coprocessor/cofhe.ts'
import { createProcessProver } from '../lib/host/coprocessor/process-prover.ts'
import { systemClock } from '../lib/system.ts'
import type { LocalChain } from './local-chain.ts'

/** How long the client waits for another node when none is left that can do the job. */
const giveUpWhenStuckMs = 3_000

/** What a client needs of a world. */
export type AskedWorld = { readonly chain: LocalChain; readonly icl: { readonly url: string } }

/** Runs a prompt through a world as its client. */
export async function ask(
  world: AskedWorld,
  { prompt, ...options }: InferOptions & { readonly prompt: string },
): Promise<Inference> {
  const client = await clientOf(world, options.signal)
  return await client.infer(prompt, { ...options, giveUpWhenStuckMs })
}

/** Makes the client of a world. */
export function clientOf({ chain, icl }: AskedWorld, signal?: AbortSignal): Promise<Client> {
  const { rpcUrl, chainId, client: account, deployment, coprocessor } = chain
  return createClient({
    icl: icl.url,
    rpcUrl,
    account,
    contracts: deployment.contracts,
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
