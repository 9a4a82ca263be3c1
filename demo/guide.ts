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

/** Writes the environment of another node with this wallet: that of the first node, without a real provider's key and address. Returns the file. */
async function prepareMore(
  { folder, nodes: [first], standInUrl, chain }: World,
  provider: Provider,
  { name, index, key }: { readonly name: string; readonly index: number; readonly key: string },
): Promise<string> {
  const own = join(folder, name)
  await mkdir(own, { mode: 0o700 })
  const file = join(folder, `${name}.env`)
  const given = provider.envOf(index, standInUrl)
  const inherited = Object.entries(first?.env ?? {}).filter(([variable]) => !(variable in given))
  await writeEnvironment(file, {
    ...Object.fromEntries(inherited),
    SVC_CONFIG_PATH: join(own, 'config.json'),
    SVC_KEY_PASSWORD: randomHex(),
    SVC_IMPORT_PRIVATE_KEY: key,
    // On another chain than 31337 `run` registers by itself only with both.
    SVC_REGISTER_UP_TO: '2',
    SVC_NODE_REGISTRY: chain.contracts.nodeRegistry,
    // A real key stays in the environment that it came from.
    ...(provider.standIn && given),
  })
  return file
}

/** Returns a shell command that adds the node of an environment file, with the given way to call svc-node. */
const addNode = (file: string, svcNode: string, initFlags: string): string =>
  withFile(
    file,
    [`init --yes${initFlags}`, 'attest --mock', 'run']
      .map((command) => `${svcNode} ${command}`)
      .join(' && '),
  )

/** Writes the files of the commands that `tellGuide` prints. */
async function prepareFiles(world: World, provider: Provider) {
  const { chain, icl, nodes, folder } = world
  const files = { client: join(folder, 'client.env'), icl: join(folder, 'icl.env') }
  const client = await clientEnvironment(world)
  await writeEnvironment(files.client, client)
  await writeEnvironment(files.icl, icl.command.env)
  const more = await Promise.all(
    chain.spare.map(async ({ privateKey: key }, spare) => {
      const index = nodes.length + spare
      const name = `node-${index + 1}`
      return { name, file: await prepareMore(world, provider, { name, index, key }) }
    }),
  )
  return { files, client, more }
}

function tellPlaces({ say }: Pick<Story, 'say'>, world: World): void {
  const { chain, icl, nodes, folder, standInUrl, mockAttestationKey } = world
  say(`  console      ${icl.url}/console`)
  if (hasPlayground(world)) say(`  playground   ${icl.url}/playground`)
  say(`  API          ${icl.url}/docs`)
  if (standInUrl !== undefined) say(`  stand-in     ${standInUrl}  (the provider)`)
  say(`  chain RPC    ${chain.rpcUrl}  (chain id ${chain.chainId})`)
  if (chain.coprocessor) say(`  coprocessor  ${chain.coprocessor.cofhe_url}`)
  say(`  contracts    ${join(folder, 'deployment.json')}`)
  say(`  coordinator  ${chain.coordinator}  key ${chain.coordinatorKey}`)
  for (const { name, address } of nodes) say(`  ${name}       ${address}`)
  say(`  logs         ${join(folder, '*.log')}`)
  say(`  mock key     ${mockAttestationKey}  (for attestation)`)
  say('Wallets with money on this chain. Their keys are public, so never use them elsewhere:')
  for (const { address, privateKey } of chain.spare) say(`  ${address}  ${privateKey}`)
}

const hasPlayground = ({ icl }: World): boolean => 'SVC_ICL_PLAYGROUND' in icl.command.env

/** Prints addresses, keys, and commands to copy. */
export async function tellGuide(
  { say }: Pick<Story, 'say'>,
  world: World,
  { provider, webhookUrl }: { readonly provider: Provider; readonly webhookUrl?: string },
): Promise<void> {
  const { files, client, more } = await prepareFiles(world, provider)
  const [added, ...others] = more
  say()
  say('Ready. Ctrl-C stops all of it and deletes its files.')
  tellPlaces({ say }, world)
  say('In another terminal, send a prompt:')
  say(withFile(files.client, 'npm run -s infer -- "What is a lighthouse for?"'))
  say("Serve its answers to what speaks OpenAI's protocol (docs/gateway.md):")
  say(withFile(files.client, 'npm run -s gateway'))
  say('The settings of both, for programs of your own:')
  for (const [name, value] of Object.entries(client)) say(`  export ${name}=${quoted(value)}`)
  if (webhookUrl !== undefined) {
    const ask = `npm run -s infer -- --webhook ${webhookUrl} "What is a buoy for?"`
    say('Register a webhook with one. Its message is printed here:')
    say(withFile(files.client, ask))
  }
  say(`Add a node (${others.map(({ name }) => name).join(', ')} likewise):`)
  say(addNode(added?.file ?? '', 'npm run -s svc-node --', ' --scrypt-n 4096'))
  say('Add one with the executable alone, in its folder (docs/build.md):')
  say(addNode(others[0]?.file ?? '', './svc-node', ''))
  if (!provider.standIn) say('  The node also needs the key of the provider in its environment.')
  // On an edge host the store is out of reach.
  if (world.icl.databaseUrl !== '') {
    say('Look at the ICL as its operator (docs/operations.md):')
    say(withFile(files.icl, 'npm run -s icl -- admin doctor'))
  }
  const open = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const page = hasPlayground(world) ? 'playground' : 'console'
  say(`Open the ${page}:`)
  say(`  ${open} ${world.icl.url}/${page}`)
}
