import type { Address } from '../../lib/codecs.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { createRegistryReader } from '../chain/registry.ts'
import type { Log } from '../log.ts'
import { etherText } from './amounts.ts'
import { workingGas } from './diagnose-node.ts'
import { registryEndpoint } from './reach.ts'

/** Warns at the daemon's start when the wallet cannot pay for heartbeats and answers. Says nothing when the chain is away. */
export async function warnIfUnfunded(
  place: { readonly network: Network; readonly rpcUrl: string; readonly address: Address },
  log: Pick<Log, 'warning'>,
  signal: AbortSignal,
): Promise<void> {
  const { network, rpcUrl, address } = place
  const registry = createRegistryReader(registryEndpoint(network, rpcUrl))
  try {
    const [balance, { gasPrice }] = await Promise.all([
      registry.balanceOf(address, signal),
      registry.terms(signal),
    ])
    if (balance < workingGas * gasPrice)
      log.warning(
        `The wallet has ${etherText(balance)}, too little to pay for heartbeats and answers: send gas money to ${address}`,
      )
  } catch {
    // The loops that need the chain log that it is away.
  }
}
