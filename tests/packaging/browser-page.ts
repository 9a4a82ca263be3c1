import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { packageNames } from '../../scripts/pack/packages.ts'
import { startChromium } from '../browser/chromium.ts'
import type { ClientWorld } from '../client/client-world.ts'
import { listenHere } from '../local-server.ts'
import { userPath } from './install-package.ts'

const run = promisify(execFile)
const limitMs = 900_000

/** The prompt of `asking`. */
export const prompt = 'What is a lighthouse for?'
/** What the nodes of a client's world answer to `asking`. */
export const rightAnswer = `Answer to: ${prompt}`

/** What a user writes: it asks, checks the receipt again, and gives the answer. */
export const asking = `import { createClient, verifyReceipt } from '${packageNames.client}'
import { privateKeyToAccount } from 'viem/accounts'
export async function ask({ key, model, ...options }) {
  const client = await createClient({ ...options, account: privateKeyToAccount(key) })
  const result = await client.infer(${JSON.stringify(prompt)}, { model })
  if (result.status !== 'accepted') throw new Error(result.status)
  await verifyReceipt(result.receipt)
  return result.output
}
`

// A key that is none is refused by the FHE code, and not before the worker has loaded it.
const page = (prover: string) => `${prover}
import { ask } from './ask.js'
const nonsense = { publicKeyHex: '0xabcd', crsHex: '0xabcd', values: [1n], metadata: new Uint8Array(53) }
globalThis.refused = () => prover.prove(nonsense).then(() => 'it was proven', String)
globalThis.ask = (options) => ask({ ...options, prover })
`

/** What is installed for a bundler, and how a page is built with it; esbuild's command is in the package's README. */
export const bundlers = {
  vite: { packages: ['vite@8.3.8'], command: 'npx vite build' },
  webpack: {
    packages: ['webpack@5.113.0', 'webpack-cli@7.3.1'],
    command: 'npx webpack --mode production --entry ./src/main.js',
  },
  esbuild: { packages: ['esbuild@0.28.2'], command: undefined },
}
export type Bundler = keyof typeof bundlers

/** Builds a page as a user of the unpacked client does, by the README of the package, in an empty folder below it; returns the folder of the built page. */
export async function buildPage(bundler: Bundler, client: string, folder: string): Promise<string> {
  const { packages, command } = bundlers[bundler]
  const readme = await readFile(join(client, 'README.md'), 'utf8')
  const blocks = (language: string) =>
    [...readme.matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, name, text = '']) =>
      name === language ? [text] : [],
    )
  const [, urlsOfPackages = '', urlsBeside = ''] = blocks('ts')
  const [ofReadme = ''] = blocks('sh')
  const source = join(folder, 'src')
  const built = join(folder, 'dist')
  await mkdir(source, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(source, 'ask.js'), asking)
  await writeFile(
    join(source, 'main.js'),
    page(command === undefined ? urlsBeside : urlsOfPackages),
  )
  const how = { cwd: folder, env: { ...process.env, PATH: userPath }, timeout: limitMs }
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['install', ...flags, ...packages], how)
  const scope = packageNames.client.split('/')[0] ?? ''
  await symlink(join(client, '..'), join(folder, 'node_modules', scope))
  const html = (script: string) => `<!doctype html><script type="module" src="${script}"></script>`
  await writeFile(join(folder, 'index.html'), html('/src/main.js'))
  await run('sh', ['-ec', command ?? ofReadme], how)
  if (bundler !== 'vite') await writeFile(join(built, 'index.html'), html('main.js'))
  return built
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
}

/** Serves a folder whose page is still to be built. Its origin is one of its own. */
export function servePage(folder: string) {
  return listenHere(
    createServer(({ url = '/' }, response) => {
      const name = url === '/' ? 'index.html' : url.slice(1)
      readFile(join(folder, name)).then(
        (content) => response.writeHead(200, { 'content-type': types[extname(name)] }).end(content),
        () => response.writeHead(404).end(),
      )
    }),
  )
}

/** What `asking` needs to know of a service, as JSON. */
export async function askedOf({ environment, world }: ClientWorld): Promise<string> {
  const { SVC_ICL_ENDPOINT: icl, SVC_RPC_URL: rpcUrl, SVC_CLIENT_KEY_FILE: file } = environment
  const key = (await readFile(file ?? '', 'utf8')).trim()
  const coprocessorUrls = world.chain.coprocessor
  return JSON.stringify({ icl, rpcUrl, coprocessorUrls, key, model: 'openai:gpt-4o-mini' })
}

/** How the FHE code in a page's worker refuses a key that is none. */
export const refusal = /deserializ|unexpected end|io error/i

/** Has a page ask in Chromium, and returns its answer and how its worker refused. */
export async function askInPage(url: string, asked: string) {
  const browser = await startChromium()
  if (browser === undefined) throw new Error('Chromium is not installed')
  try {
    const page = await browser.newPage()
    await page.goto(url)
    const refused = await page.evaluate<string>('refused()')
    return { answer: await page.evaluate<string>(`ask(${asked})`), refused }
  } finally {
    await browser.close()
  }
}
