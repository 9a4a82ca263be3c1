import type { CoprocessorUrls } from './schemas/coprocessor-urls.ts'

/** A chain on which a CoFHE coprocessor is known to work. */
export type KnownNetwork = {
  /** As `--network` names it. */
  readonly name: 'local' | 'sepolia' | 'arbitrum-sepolia' | 'base-sepolia'
  readonly chainId: number
  /** Where its coprocessor is; undefined where each machine has one of its own. */
  readonly coprocessor: CoprocessorUrls | undefined
}

const testnet: CoprocessorUrls = {
  cofhe_url: 'https://testnet-cofhe.fhenix.zone',
  verifier_url: 'https://testnet-cofhe-vrf.fhenix.zone',
  threshold_network_url: 'https://testnet-cofhe-tn.fhenix.zone',
}

/** The chain id of a local chain with real ciphertexts; on 31337 the coprocessor's SDK goes over to its mock mode. */
export const localFheChainId = 420_105

/** Every network that needs no addresses of its coprocessor. */
export const knownNetworks: readonly KnownNetwork[] = [
  { name: 'local', chainId: localFheChainId, coprocessor: undefined },
  { name: 'sepolia', chainId: 11_155_111, coprocessor: testnet },
  { name: 'arbitrum-sepolia', chainId: 421_614, coprocessor: testnet },
  { name: 'base-sepolia', chainId: 84_532, coprocessor: testnet },
]
