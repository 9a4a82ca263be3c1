import {
  type CofheClient,
  type CofheClientParams,
  type CofheConfig,
  createCofheClientBase,
  createCofheConfigBase,
} from '@cofhe/sdk'
import type { ChainWriter } from '../chain/clients.ts'

type Params = CofheClientParams<CofheConfig>
type Builder = ReturnType<Params['zkBuilderAndCrsGenerator']>
type ConfigInput = Parameters<typeof createCofheConfigBase>[0]

/** Makes a proof for the SDK from the hex of public key and CRS, the values, and the metadata that the proof is bound to. */
export type SdkProve = NonNullable<Params['zkProveWorkerFn']>

const ignore = () => {}

// The SDK calls these on the caller's thread, where no proofs are made. They must not throw, since the SDK does not catch it.
const noProofs = {
  zkBuilderAndCrsGenerator: (): Builder => ({
    zkBuilder: {
      push_boolean: ignore,
      push_u8: ignore,
      push_u16: ignore,
      push_u32: ignore,
      push_u64: ignore,
      push_u128: ignore,
      push_u160: ignore,
      build_with_proof_packed: () => ({ safe_serialize: () => new Uint8Array() }),
    } as unknown as Builder['zkBuilder'],
    zkCrs: {} as Builder['zkCrs'],
  }),
  tfhePublicKeyDeserializer: ignore,
  compactPkeCrsDeserializer: ignore,
  initTfhe: async () => false,
}

/** Makes the SDK's client, connected as the wallet of `chain`. Writes nothing to disk and loads no FHE code. */
export async function createSdkClient(
  chain: ChainWriter,
  config: Omit<ConfigInput, 'environment'>,
  prove?: SdkProve,
): Promise<CofheClient> {
  const client = createCofheClientBase({
    config: createCofheConfigBase({ ...config, environment: 'node' }),
    ...noProofs,
    ...(prove && { zkProveWorkerFn: prove }),
  })
  await client.connect(chain.publicClient, chain.walletClient)
  return client
}
