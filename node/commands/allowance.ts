import { parseEther } from 'viem'
import type { Address } from '../../lib/codecs.ts'
import { isForDevelopment } from '../../lib/development.ts'
import type { Config } from '../config.ts'

/** Money of a chain for development is worth nothing, and a transaction for its id counts on no other chain. */
const developmentWei = parseEther('2')

/** Wei of stake and gas together that `run` may pay to register, and the only contract that gets them. The ICL's is meant where none is named. */
export type Allowance = { readonly wei: bigint; readonly nodeRegistry: Address | undefined }

/**
 * Returns the allowance of the operator, if there is one. An amount alone allows no payment, unless an address file names the contract or
 * the chain is for development: the ICL could name one of its own.
 */
export function allowanceOf(
  config: Pick<Config, 'icl_endpoint' | 'deployment' | 'register_up_to' | 'node_registry'>,
  chainId: number,
): Allowance | undefined {
  const isLocal = isForDevelopment(config.icl_endpoint, chainId)
  const nodeRegistry = config.node_registry
  const isNamed = isLocal || nodeRegistry !== undefined || config.deployment !== undefined
  const wei = config.register_up_to ?? (isLocal ? developmentWei : 0n)
  return isNamed && wei > 0n ? { wei, nodeRegistry } : undefined
}
