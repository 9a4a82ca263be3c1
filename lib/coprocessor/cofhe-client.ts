import {
  type CofheClient,
  type CofheClientParams,
  type CofheConfig,
  createCofheClientBase,
  createCofheConfigBase,
} from '@cofhe/sdk'
import { hardhat } from '@cofhe/sdk/chains'
import { createTestClient, http, parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type ChainEndpoint, type ChainWriter, createChainWriter } from '../chain/clients.ts'
import type { Random } from '../random.ts'

type Builder = ReturnType<CofheClientParams<CofheConfig>['zkBuilderAndCrsGenerator']>

const ignore = () => {}

// The SDK asks for these even where no proof is made. They must not throw: it calls them where nothing catches.
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
      build_with_proof_packed: () => ({ serialize: () => new Uint8Array() }),
    } as unknown as Builder['zkBuilder'],
    zkCrs: {} as Builder['zkCrs'],
  }),
  tfhePublicKeyDeserializer: ignore,
  compactPkeCrsDeserializer: ignore,
  initTfhe: async () => false,
}

// Every instance pays from a wallet of its own: instances that shared the SDK's one would take each other's nonces.
const createInserter = async (endpoint: ChainEndpoint, random: Random): Promise<ChainWriter> => {
  const account = privateKeyToAccount(toHex(random.bytes(32)))
  const test = createTestClient({ mode: 'anvil', transport: http(endpoint.rpcUrl) })
  await test.setBalance({ address: account.address, value: parseEther('10') })
  return createChainWriter({ ...endpoint, account })
}

/** DEVELOPMENT ONLY: the SDK's client in its mock mode, connected as the wallet of `chain`; writes nothing to disk. */
export const connectLocalCofhe = async (
  endpoint: ChainEndpoint,
  chain: ChainWriter,
  random: Random,
): Promise<CofheClient> => {
  const inserter = await createInserter(endpoint, random)
  const config = createCofheConfigBase({
    environment: 'node',
    supportedChains: [hardhat],
    fheKeyStorage: null,
    useWorkers: false,
    mocks: { encryptDelay: 0, decryptDelay: 0 },
    _internal: { zkvWalletClient: inserter.walletClient },
  })
  const client = createCofheClientBase({ config, ...noProofs })
  await client.connect(chain.publicClient, chain.walletClient)
  return client
}
