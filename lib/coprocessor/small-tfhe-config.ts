import {
  ShortintCompactPublicKeyEncryptionParameters,
  ShortintCompactPublicKeyEncryptionParametersName,
  ShortintParameters,
  ShortintParametersName,
  type TfheConfig,
  TfheConfigBuilder,
} from 'tfhe'

/** DEVELOPMENT ONLY: the dimension of the evaluation key, so small that it has no security, which makes verifying 60 times faster. */
export const evaluationDimension = 16

/** DEVELOPMENT ONLY: the parameters of public coprocessors with a weak evaluation key. The key of clients has full strength. Load the FHE code first. */
export const smallTfheConfig = (): TfheConfig => {
  const { PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128: blockName } = ShortintParametersName
  const { V0_11_PARAM_PKE_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M64: publicKeyName } =
    ShortintCompactPublicKeyEncryptionParametersName
  const block = new ShortintParameters(blockName)
  block.set_lwe_dimension(evaluationDimension)
  return TfheConfigBuilder.with_custom_parameters(block)
    .use_dedicated_compact_public_key_parameters(
      new ShortintCompactPublicKeyEncryptionParameters(publicKeyName),
    )
    .build()
}
