import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../demo/free-port.ts'
import { programOf } from '../../demo/runtime-programs.ts'
import { packageNames } from '../../scripts/pack/packages.ts'
import { startClientWorld } from '../client/client-world.ts'
import { print, runOnly } from '../run-program.ts'
import {
  askedOf,
  askInPage,
  asking,
  type Bundler,
  buildPage,
  bundlers,
  prompt,
  refusal,
  rightAnswer,
  servePage,
} from './browser-page.ts'
import { installPackage, userPath } from './install-package.ts'

const run = promisify(execFile)
const limitMs = 120_000
/** The oldest Node that counts, and the later ones with support. */
const nodeVersions = ['20.20.2', '22.23.3', '24.9.0']

const printing = `import { ask } from './ask.js'
console.log(await ask(JSON.parse(process.argv[2])))
process.exit(0)
`
const serving = `import { ask } from './ask.js'
export default {
  fetch: async (request) =>
    new Response(await ask(await request.json()).catch((error) => String(error.cause ?? error))),
}
`

let folder = ''
const at = (name: string) => join(folder, name)

async function tryAll(): Promise<number> {
  folder = await mkdtemp(join(tmpdir(), 'svc-whole-'))
  const place = await startClientWorld()
  let failures = 0
  try {
    await writeFile(at('package.json'), '{"type":"module"}')
    await writeFile(at('ask.js'), asking)
    await writeFile(at('print.js'), printing)
    await writeFile(at('serve.js'), serving)
    const client = await installPackage('client', folder)
    const command = await installPackage('command', folder)
    const asked = await askedOf(place)
    const environment = { PATH: userPath, ...place.environment }
    const printed = async (program: string, args: readonly string[]): Promise<string> => {
      const how = { cwd: folder, timeout: limitMs, env: environment }
      return (await run(program, [...args], how)).stdout.trim()
    }
    const script = ['print.js', asked]
    const deno = ['run', '--no-prompt', '--allow-net', '--allow-env', '--node-modules-dir=manual']
    const svc = join(command, 'bin', `${packageNames.command}.js`)
    const rows: [string, () => Promise<string>][] = [
      ...nodeVersions.map((version): [string, () => Promise<string>] => [
        `node ${version}`,
        async () => printed(await nodeOf(version), script),
      ]),
      ['bun', () => printed(programOf('bun') ?? '', script)],
      ['deno', () => printed(programOf('deno') ?? '', [...deno, ...script])],
      ['workerd', () => onWorkerd(asked)],
      ...(Object.keys(bundlers) as Bundler[]).map((name): [string, () => Promise<string>] => [
        `${name}, in Chromium`,
        () => inPage(name, client, asked),
      ]),
      ['svc gateway', () => throughGateway(svc, environment)],
      ['svc infer', () => printed('node', [svc, 'infer', '--quiet', prompt])],
    ]
    for (const [name, ask] of rows) {
      const answer = await ask().catch((error: Error) => error.message)
      const isAnswered = answer === rightAnswer
      if (!isAnswered) failures += 1
      print(isAnswered ? `pass  ${name}` : `FAIL  ${name}: ${answer}`)
    }
  } finally {
    await place.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return failures === 0 ? 0 : 1
}

/** One module of another, as a user bundles for a place without npm. */
async function bundled(entry: string): Promise<string> {
  const out = at(`bundled-${entry}`)
  const how = ['build', '--target=browser', '--format=esm', `--outfile=${out}`, entry]
  await run(programOf('bun') ?? '', how, { cwd: folder })
  return out
}

async function onWorkerd(asked: string): Promise<string> {
  await bundled('serve.js')
  const port = await freePort()
  await writeFile(
    at('worker.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "bundled-serve.js")],
      compatibilityDate = "2026-01-01", globalOutbound = "net",
    )),
    (name = "net", network = (allow = ["local", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
  )
  const child = spawn(programOf('workerd') ?? '', ['serve', at('worker.capnp')])
  try {
    const url = `http://127.0.0.1:${port}/`
    for (let tries = 0; ; tries++) {
      const answer = await fetch(url, { method: 'POST', body: asked }).catch(() => undefined)
      if (answer) return await answer.text()
      if (tries === 100) throw new Error('workerd does not start')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    child.kill('SIGKILL')
  }
}

/** The answer of the packed gateway, which Ctrl-C ends at once and well. */
async function throughGateway(
  svc: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const child = spawn('node', [svc, 'gateway', '--port', '0'], { cwd: folder, env: { ...env } })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    let said = ''
    for await (const chunk of child.stdout) {
      said += chunk
      if (/Gateway at \S+\s/.test(said)) break
    }
    const [, base = ''] = /Gateway at (\S+)/.exec(said) ?? []
    const messages = [{ role: 'user', content: prompt }]
    const answer = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai:gpt-4o-mini', messages }),
      signal: AbortSignal.timeout(limitMs),
    })
    const text = await answer.text()
    child.kill('SIGINT')
    const code = await ended
    if (!answer.ok) throw new Error(`the gateway returned ${answer.status}: ${text}`)
    return code === 0 ? JSON.parse(text).choices[0].message.content : `it ended with ${code}`
  } finally {
    child.kill('SIGKILL')
  }
}

/** The answer in a page of another origin than the ICL's, if its worker loads the code for encryption. */
async function inPage(bundler: Bundler, client: string, asked: string): Promise<string> {
  const built = await buildPage(bundler, client, at(bundler))
  const served = await servePage(built)
  try {
    const { answer, refused } = await askInPage(served.url, asked)
    return refusal.test(refused) ? answer : `its worker says: ${refused}`
  } finally {
    await served.close()
  }
}

/** A Node of the version: the user's or this project's, or else one from npm. */
async function nodeOf(version: string): Promise<string> {
  for (const program of ['node', programOf('node') ?? 'node']) {
    const { stdout } = await run(program, ['--version'], { env: { PATH: userPath } })
    if (stdout.trim() === `v${version}`) return program
  }
  const place = at(`node-${version}`)
  const name = `node-${process.platform}-${process.arch}`
  await mkdir(place)
  await run('npm', ['install', '--prefix', place, '--no-audit', '--no-fund', `${name}@${version}`])
  return join(place, 'node_modules', name, 'bin', 'node')
}

await runOnly('npm run test:packages --', {
  summary:
    'Have the packed client ask a whole service on each runtime and in pages that bundlers built, and the packed command on Node. Print a line each; ends with 1 when one fails.',
  run: tryAll,
})
