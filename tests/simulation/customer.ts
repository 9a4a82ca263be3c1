import { createApi } from '../../lib/api.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { infer } from '../../lib/client/infer.ts'
import type { Inference } from '../../lib/client/inference.ts'
import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { modelId, origin, walletOf } from '../icl/test-icl.ts'
import { clientChainOf } from './chain-views.ts'
import type { Ground } from './ground.ts'
import type { Parameters } from './parameters.ts'

type Asked = Pick<Parameters, 'check' | 'comparator'>

/** A client that asks one question after another with the real library. */
export type Customer = {
  readonly name: string
  /** Asks until there is an answer, or a job has ended without one; how it ended. */
  ask(prompt: string, asked: Asked): Promise<Inference['status'] | 'gave-up'>
}

const againMs = 5_000
// Longer than all that makes trouble.
const mostTries = 80

/** Makes a customer with a wallet and the real client. */
export function createCustomer(
  ground: Ground,
  name: string,
  { network, skewMs }: { readonly network: Network; readonly skewMs: number },
): Customer {
  const { address, signer } = walletOf(`${ground.seed} ${name}`)
  const own = ground.dice.fork(name)
  const secret = own.bytes(32)
  const clock: Clock = { ...ground.clock, now: () => ground.clock.now() + skewMs }
  const fetch = ground.network.from(name, own)
  const context = {
    api: createApi({ baseUrl: origin, fetch, clock, random: own, signer }),
    network,
    address,
    chain: clientChainOf(ground, address),
    coprocessor: ground.coprocessor.of(address, ground.clock, own),
    blobs: createGatewayBlobs({ gateways: [origin], fetch, clock }),
    secret: async () => ({ bytes: secret, reopens: true }),
    clock,
    random: own,
  }
  const askOnce = async (prompt: string, { check, comparator }: Asked) => {
    const inference = await infer(context, prompt, {
      model: modelId,
      comparator,
      ...(check && { check: 'teacher/1' as const }),
      commitTimeoutMs: 1_200_000,
    })
    const job = inference.jobId.slice(0, 10)
    ground.story.note(name, `job ${job} ended: ${inference.status}`)
    if (inference.status === 'accepted') checkAnswer(ground, name, prompt, inference.output)
    return inference.status
  }
  return {
    name,
    ask: async (prompt, asked) => {
      for (let attempt = 1; attempt <= mostTries; attempt++) {
        try {
          return await askOnce(prompt, asked)
        } catch (error) {
          ground.story.note(name, `failed: ${nameOf(error)}`)
          if (!(error instanceof SvcError || error instanceof ProblemError)) throw error
          ground.errors.push(`${error.name} ${error.message} ${String(error.cause)}`)
          await ground.clock.sleep(againMs)
        }
      }
      return 'gave-up'
    },
  }
}

const nameOf = (error: unknown): string =>
  error instanceof SvcError || error instanceof ProblemError ? error.code : 'unexpected'

/** Whatever a client shows as accepted must be what a provider answered to that very prompt. */
function checkAnswer({ provider, story }: Ground, name: string, prompt: string, output: string) {
  if (provider.answers.get(prompt)?.has(output)) return
  story.violate(`${name} was shown an answer that no provider gave`)
}
