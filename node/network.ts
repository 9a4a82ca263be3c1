import type { Api } from '../lib/api.ts'
import type { Network } from '../lib/schemas/network.ts'
import { SvcError } from '../lib/svc-error.ts'

/** The deployment's chain and contracts; throws SvcError `icl-origin-differs` when the ICL says it lives elsewhere than configured. */
export async function fetchNetwork(
  api: Pick<Api, 'getNetwork'>,
  iclEndpoint: string,
  signal?: AbortSignal,
): Promise<Network> {
  const network = await api.getNetwork({}, { signal, attempts: 3 })
  const configured = new URL(iclEndpoint).origin
  const stated = new URL(network.public_url).origin
  if (stated === configured) return network
  // Signatures are bound to the origin: one that is known by another name could relay them.
  throw new SvcError(
    'icl-origin-differs',
    `the ICL at ${configured} says that its public address is ${stated}`,
    {
      hint: `Set icl_endpoint (SVC_ICL_ENDPOINT) to ${stated} if that is the ICL you mean; else its operator has to correct SVC_ICL_PUBLIC_URL.`,
    },
  )
}
