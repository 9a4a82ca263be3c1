import type { CofheCoprocessor, CofheOptions } from './cofhe-options.ts'
import { checkMockChain, coprocessorUrlsOf, mockChainId } from './coprocessor-urls.ts'

/**
 * Makes a coprocessor for one wallet, through the SDK: in mock mode on chain 31337, with real ciphertexts and proofs elsewhere. The SDK is
 * large, and is loaded at the first call. Throws SvcError `coprocessor-urls-unknown` or `coprocessor-not-https`, and in mock mode
 * `chain-not-local`.
 */
export const createCofheCoprocessor = (options: CofheOptions): CofheCoprocessor => {
  const { chainId, coprocessor, rpcUrl } = options
  if (chainId === mockChainId) checkMockChain(rpcUrl)
  else coprocessorUrlsOf(chainId, coprocessor)
  let loading: Promise<CofheCoprocessor> | undefined
  const loaded = (): Promise<CofheCoprocessor> => {
    loading ??= import('./sdk-coprocessor.ts')
      .then(({ createSdkCoprocessor }) => createSdkCoprocessor(options))
      .catch((error: unknown) => {
        // Over a network the next attempt may succeed.
        loading = undefined
        throw error
      })
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
