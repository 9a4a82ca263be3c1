import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientEnvironment } from './client-environment.ts'
import type { Provider } from './provider.ts'
import { randomHex } from './random-hex.ts'
import type { Story } from './story.ts'
import type { World } from './world.ts'

type Environment = Readonly<Record<string, string>>

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

async function writeEnvironment(file: string, variables: Environment): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
}

const withFile = (file: string, command: string): string =>
  `  (set -a; . ${quoted(file)}; ${command})`

/** Writes the environment of another node with this wallet, without a real provider's key. Returns the file. */
async function prepareMore(
  world: World,
  name: string,
  key: string,
  model: string,
  providerEnv: Environment,
): Promise<string> {
  const { folder, chain, icl, mockAttestationKey } = world
  const own = join(folder, name)
  await mkdir(own, { mode: 0o700 })
  const file = join(folder, `${name}.env`)
  await writeEnvironment(file, {
    SVC_CONFIG_PATH: join(own, 'config.json'),
    SVC_KEY_PASSWORD: randomHex(),
    SVC_IMPORT_PRIVATE_KEY: key,
    SVC_ICL_ENDPOINT: icl.url,
    SVC_COFHE_ENDPOINT: chain.rpcUrl,
    SVC_SUPPORTED_MODEL_IDS: model,
    SVC_MOCK_ATTESTATION_KEY: mockAttestationKey,
    ...providerEnv,
  })
  return file
}

/** Returns a shell command that adds the node of an environment file. */
const addNode = (file: string, registry: string): string =>
  withFile(
    file,
    [
      'init --yes --scrypt-n 4096',
      `register --yes --node-registry ${registry}`,
      'attest --mock',
      'run',
    ]
      .map((command) => `npm run -s svc-node -- ${command}`)
      .join(' && '),
  )

/** Prints the keys that another node or client of this world needs. */
export function tellKeys({ say }: Pick<Story, 'say'>, { chain, mockAttestationKey }: World): void {
  say(`  mock key     ${mockAttestationKey}  (for attestation)`)
  say('Wallets with money on this chain. Their keys are public, so never use them elsewhere:')
  for (const { address, privateKey } of chain.spare) say(`  ${address}  ${privateKey}`)
}

/** Prints addresses, keys, and commands to copy. */
export async function tellGuide(
  { say }: Pick<Story, 'say'>,
  world: World,
  options: {
    readonly model: string
    readonly provider: Provider
    readonly webhookUrl: string
  },
): Promise<void> {
  const { chain, icl, nodes, folder, standInUrl } = world
  const { provider, model, webhookUrl } = options
  const clientFile = join(folder, 'client.env')
  await writeEnvironment(clientFile, await clientEnvironment(world))
  const iclFile = join(folder, 'icl.env')
  await writeEnvironment(iclFile, icl.command.env)
  const names = chain.spare.map((_, index) => `node-${nodes.length + 1 + index}`)
  const files = await Promise.all(
    chain.spare.map(({ privateKey }, index) => {
      // A real key stays in the environment that it came from.
      const env = provider.standIn ? provider.envOf(nodes.length + index, standInUrl) : {}
      return prepareMore(world, names[index] ?? '', privateKey, model, env)
    }),
  )
  say()
  say('Ready. Ctrl-C stops all of it and deletes its files.')
  say(`  console      ${icl.url}/console`)
  say(`  playground   ${icl.url}/playground`)
  say(`  API          ${icl.url}/docs`)
  if (standInUrl !== undefined) say(`  stand-in     ${standInUrl}  (the provider)`)
  say(`  chain RPC    ${chain.rpcUrl}  (chain id ${chain.chainId})`)
  say(`  contracts    ${join(folder, 'deployment.json')}`)
  say(`  coordinator  ${chain.coordinator}  key ${chain.coordinatorKey}`)
  for (const { name, address } of nodes) say(`  ${name}       ${address}`)
  say(`  logs         ${join(folder, '*.log')}`)
  tellKeys({ say }, world)
  say('In another terminal, send a prompt:')
  say(withFile(clientFile, 'npm run -s infer -- "What is a lighthouse for?"'))
  say("Serve its answers to what speaks OpenAI's protocol (docs/gateway.md):")
  say(withFile(clientFile, 'npm run -s gateway'))
  say('Register a webhook with one. Its message is printed here:')
  say(withFile(clientFile, `npm run -s infer -- --webhook ${webhookUrl} "What is a buoy for?"`))
  say(`Add a node (${names.slice(1).join(', ')} likewise):`)
  say(addNode(files[0] ?? '', chain.contracts.nodeRegistry))
  if (!provider.standIn) say('  The node also needs the key of the provider in its environment.')
  say('Look at the ICL as its operator (docs/operations.md):')
  say(withFile(iclFile, 'npm run -s icl -- admin doctor'))
  say('Open the console:')
  say(`  ${process.platform === 'darwin' ? 'open' : 'xdg-open'} ${icl.url}/console`)
}
