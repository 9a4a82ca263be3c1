import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { waitForTransactionReceipt, writeContract } from 'viem/actions'
import { clientOf } from '../../demo/ask.ts'
import { startIcl } from '../../demo/icl-process.ts'
import { startLocalChain } from '../../demo/local-chain.ts'
import {
  fundNode,
  type LocalNode,
  type PreparedNode,
  runNode,
  stakeNode,
} from '../../demo/node-process.ts'
import { createProcesses } from '../../demo/processes.ts'
import { randomHex } from '../../demo/random-hex.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { infer } from '../../lib/client/infer.ts'
import type { Inference } from '../../lib/client/inference.ts'
import type { Address } from '../../lib/codecs.ts'
import { eventually } from '../eventually.ts'
import { createSwtpmMaker, type Swtpm } from '../tools/swtpm.ts'
import { whole } from '../whole.ts'
import { startProviderServer } from './provider-server.ts'

const model = 'openai:gpt-4o-mini'
const main = join(import.meta.dirname, '..', '..', 'node', 'main.ts')

/** A node with a TPM of its own. */
export type TpmNode = PreparedNode & { readonly tpm: Swtpm }

/** An ICL that accepts TPMs and nothing else, a chain, a provider, and TPMs for nodes. */
export type TpmWorld = Awaited<ReturnType<typeof startTpmWorld>>

/** Starts it all, for the executable or for the sources; `answer` is what the provider says. */
export const startTpmWorld = (answer: string, binary?: string) =>
  whole((stops) => build(answer, binary, stops))

async function build(answer: string, binary: string | undefined, stops: (() => unknown)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-tpms-'))
  stops.push(() => rm(folder, { recursive: true, force: true }))
  const maker = await createSwtpmMaker()
  stops.push(maker.stop)
  const provider = await startProviderServer(() => answer)
  stops.push(provider.stop)
  const chain = await startLocalChain()
  stops.push(chain.stop)
  const processes = createProcesses(folder)
  stops.push(processes.close)
  const env = {
    ...{ SVC_ICL_TPM_ROOTS: maker.rootsFile, SVC_ICL_MOCK_ATTESTATION_KEY: '' },
    SVC_ICL_TIERS: 'tpm=1,mock=0',
  }
  const icl = await startIcl({ processes, folder, chain, mockAttestationKey: '', env })
  const place = {
    processes,
    folder,
    chain,
    iclUrl: icl.url,
    models: [model],
    mockAttestationKey: '',
    binary,
  }
  const { rpcUrl, chainId, funder } = chain
  const writer = createChainWriter({ rpcUrl, chainId, account: funder })

  let runs = 0
  // One wallet pays for all: its transactions come one after the other.
  let funded: Promise<unknown> = Promise.resolve()
  /** `svc-node` with these arguments, to its end; gives its standard output. */
  const command = (node: Pick<TpmNode, 'name' | 'env'>, args: readonly string[]) => {
    const program = binary === undefined ? { args: [main, ...args] } : { program: binary, args }
    return processes.run({ name: `${node.name}-${args[0]}-${++runs}`, ...program, env: node.env })
  }
  const prepare = async (name: string, tpm: Swtpm): Promise<TpmNode> => {
    const home = join(folder, name)
    await mkdir(home, { mode: 0o700 })
    const privateKey = `0x${randomHex()}` as const
    const address = privateKeyToAccount(privateKey).address.toLowerCase() as Address
    const nodeEnv = {
      SVC_CONFIG_PATH: join(home, 'config.json'),
      SVC_KEY_PASSWORD: randomHex(),
      SVC_LOG_LEVEL: 'INFO',
      OPENAI_API_KEY: `key-of-${name}`,
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    }
    const node = { name, address, folder: home, env: nodeEnv, privateKey, tpm }
    const args = ['init', '--icl-endpoint', icl.url, '--cofhe-endpoint', rpcUrl, '--models', model]
    args.push('--backend', 'tpm', '--tpm', tpm.setting, '--scrypt-n', '4096', '--yes')
    await command({ name, env: { ...nodeEnv, SVC_IMPORT_PRIVATE_KEY: privateKey } }, args)
    funded = funded.then(() => fundNode(writer, node))
    await funded
    await stakeNode(place, node)
    await setTiers(node, [0, 1])
    return node
  }
  const setTiers = async ({ privateKey }: PreparedNode, tiers: readonly number[]) => {
    const account = privateKeyToAccount(privateKey)
    const { publicClient, walletClient } = createChainWriter({ rpcUrl, chainId, account })
    const contract = { address: chain.contracts.nodeRegistry, abi: nodeRegistryAbi }
    const call = { ...contract, functionName: 'setModelTiers', args: [tiers] } as const
    await waitForTransactionReceipt(publicClient, { hash: await writeContract(walletClient, call) })
  }
  const run = (node: TpmNode): LocalNode => runNode(place, node)
  const logged = (node: LocalNode, fragment: string) =>
    eventually(`${node.name} logs "${fragment}"`, async () =>
      (await readFile(node.process.logFile, 'utf8')).includes(fragment),
    )
  return {
    maker,
    icl,
    processes,
    command,
    prepare,
    run,
    logged,
    setTiers,
    /** Asks nodes of tier 1; `beforeReceipt` is done when the job has settled, before the client checks who signed. */
    ask: async (prompt: string, beforeReceipt: () => Promise<unknown>): Promise<Inference> => {
      const { context } = await clientOf({ chain, icl })
      const { api } = context
      const getReceipt: typeof api.getReceipt = async (...args) => {
        await beforeReceipt()
        return api.getReceipt(...args)
      }
      return infer({ ...context, api: { ...api, getReceipt } }, prompt, { model, minTier: 1 })
    },
  }
}
