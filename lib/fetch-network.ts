import type { Api } from './api.ts'
import type { Network } from './schemas/network.ts'
import { SvcError } from './svc-error.ts'

/** Fetches the ICL's chain and contracts. Throws SvcError `icl-origin-differs` when the ICL states another origin than `iclEndpoint`. */
export async function fetchNetwork(
  api: Pick<Api, 'getNetwork'>,
  iclEndpoint: string,
  signal?: AbortSignal,
  attempts = 3,
): Promise<Network> {
  const network = await api.getNetwork({}, { signal, attempts })
  const configured = new URL(iclEndpoint).origin
  const stated = new URL(network.public_url).origin
  if (stated === configured) return network
  // Signatures are bound to the origin. An ICL under another name could relay them.
  throw new SvcError(
    'icl-origin-differs',
    `the ICL at ${configured} says that its public address is ${stated}`,
    {
      hint: `Use ${stated} if that is the ICL you mean (a node: SVC_ICL_ENDPOINT). Else its operator has to correct SVC_ICL_PUBLIC_URL.`,
    },
  )
}
