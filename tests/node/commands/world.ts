import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestClient, http, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fundWallet } from '../../../demo/fund-wallet.ts'
import { startWorld } from '../../../demo/world.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import type { Address } from '../../../lib/codecs.ts'
import { runCommand } from '../../../lib/host/run-command.ts'
import { builtBinary } from '../../binary/executable.ts'
import { runHere } from '../run-here.ts'

const mockKey = '0123456789abcdef0123456789abcdef'
const modelId = 'openai:gpt-4o-mini'

/** A node of its own: a folder, a wallet, an environment. */
export type Operator = Awaited<ReturnType<CommandWorld['newOperator']>>

/** A real chain, a real ICL and a stand-in for the provider, each a process, for commands to meet. */
export type CommandWorld = Awaited<ReturnType<typeof startCommandWorld>>

async function runProcess(args: readonly string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await runCommand([await builtBinary(), ...args], {
    env: { PATH: process.env.PATH, ...env },
    timeoutMs: 240_000,
  })
  return { code, out: stdout, err: stderr }
}

export async function startCommandWorld() {
  const world = await startWorld({
    models: [modelId],
    nodes: 0,
    standIn: true,
    providerEnv: () => ({}),
    iclEnv: { SVC_ICL_MOCK_ATTESTATION_KEY: mockKey },
  })
  const { rpcUrl, chainId, funder } = world.chain
  const writer = createChainWriter({ rpcUrl, chainId, account: funder })
  const test = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  const folders: string[] = []
  return {
    world,
    newOperator: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-operator-'))
      folders.push(folder)
      const privateKey = generatePrivateKey()
      const address = privateKeyToAccount(privateKey).address.toLowerCase() as Address
      const env: Record<string, string> = {
        HOME: folder,
        SVC_CONFIG_PATH: join(folder, 'config.json'),
        SVC_KEY_PASSWORD: 'a password that no line may show',
        SVC_IMPORT_PRIVATE_KEY: privateKey,
        SVC_MOCK_ATTESTATION_KEY: mockKey,
        SVC_ICL_ENDPOINT: world.icl.url,
        SVC_COFHE_ENDPOINT: rpcUrl,
        SVC_SUPPORTED_MODEL_IDS: modelId,
        SVC_OPENAI_BASE_URL: world.standInUrl ?? '',
        OPENAI_API_KEY: 'stand-in-node-1',
      }
      /** Runs `svc-node` with these arguments; `changes` go into its environment. */
      const run = (args: readonly string[], changes: Record<string, string> = {}) =>
        runHere(args, { ...env, ...changes })
      const made = await run(['init', '--scrypt-n', '4096', '--json'])
      if (made.code !== 0) throw new Error(made.err)
      /** The same as a process. */
      const start = (args: readonly string[]) => runProcess(args, env)
      return { folder, address, privateKey, env, run, start }
    },
    fund: (to: Address, ether: string): Promise<void> => fundWallet(writer, to, parseEther(ether)),
    /** Moves the chain's time on. */
    pass: async (seconds: number) => {
      await test.increaseTime({ seconds })
      await test.mine({ blocks: 1 })
    },
    stop: async () => {
      await world.stop()
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
  }
}
