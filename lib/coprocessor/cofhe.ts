import type { CofheCoprocessor, CofheOptions } from './cofhe-options.ts'
import { coprocessorUrlsOf } from './coprocessor-urls.ts'
import { checkMockChain, mockChainId } from './mock-chain.ts'

/**
 * Reaches the coprocessor through its SDK as one wallet: in the SDK's mock mode on chain 31337, with real ciphertexts and
 * proofs on any other. The SDK is large, and is loaded with the first call. Throws SvcError `coprocessor-urls-unknown` or
 * `coprocessor-not-https`, and `chain-not-local` in mock mode.
 */
export const createCofheCoprocessor = (options: CofheOptions): CofheCoprocessor => {
  const { chainId, coprocessor, rpcUrl } = options
  if (chainId === mockChainId) checkMockChain(rpcUrl)
  else coprocessorUrlsOf(chainId, coprocessor)
  let loading: Promise<CofheCoprocessor> | undefined
  const loaded = (): Promise<CofheCoprocessor> => {
    loading ??= import('./sdk-coprocessor.ts').then(
      ({ createSdkCoprocessor }) => createSdkCoprocessor(options),
      (error: unknown) => {
        // Over a network it may load the next time.
        loading = undefined
        throw error
      },
    )
    return loading
  }
  return {
    encrypt: async (high, low, encryptOptions) =>
      (await loaded()).encrypt(high, low, encryptOptions),
    fetchKeys: async (signal) => (await loaded()).fetchKeys(signal),
    decrypt: async (handle, decryptOptions) => (await loaded()).decrypt(handle, decryptOptions),
    makePermit: async (signal) => (await loaded()).makePermit(signal),
  }
}
