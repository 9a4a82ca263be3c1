import type { CoprocessorUrls } from './schemas/coprocessor-urls.ts'

/** A chain on which a CoFHE coprocessor is known to work. */
export type KnownNetwork = {
  /** The name for `--network`. */
  readonly name: 'dev' | 'local' | 'sepolia' | 'arbitrum-sepolia' | 'base-sepolia'
  readonly chainId: number
  /** Its coprocessor's URLs; undefined where each machine runs its own: `dev` is the chain of `npm run dev`. */
  readonly coprocessor: CoprocessorUrls | undefined
}

const testnet: CoprocessorUrls = {
  cofhe_url: 'https://testnet-cofhe.fhenix.zone',
  verifier_url: 'https://testnet-cofhe-vrf.fhenix.zone',
  threshold_network_url: 'https://testnet-cofhe-tn.fhenix.zone',
}

/** The id of a local chain with real ciphertexts. For 31337 the coprocessor's SDK switches to its mock mode. */
export const localFheChainId = 420_105

/** Every network whose coprocessor's URLs are known, or which needs none. */
export const knownNetworks: readonly KnownNetwork[] = [
  { name: 'dev', chainId: 31_337, coprocessor: undefined },
  { name: 'local', chainId: localFheChainId, coprocessor: undefined },
  { name: 'sepolia', chainId: 11_155_111, coprocessor: testnet },
  { name: 'arbitrum-sepolia', chainId: 421_614, coprocessor: testnet },
  { name: 'base-sepolia', chainId: 84_532, coprocessor: testnet },
]
