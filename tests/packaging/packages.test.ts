import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'
import { root } from '../../scripts/pack/bundle.ts'
import { packageNames } from '../../scripts/pack/packages.ts'
import { browserNote, itInBrowser } from '../browser/chromium.ts'
import { startClientWorld } from '../client/client-world.ts'
import valid from '../vectors/receipts-valid.json' with { type: 'json' }
import { askedOf, askInPage, buildPage, refusal, rightAnswer, servePage } from './browser-page.ts'
import { installPackage, userPath } from './install-package.ts'

const run = promisify(execFile)
const mostBytes = 250_000
// Real proofs on a busy machine.
const patienceMs = 20 * 60_000
const vectors = join(root, 'tests', 'vectors', 'receipts-valid.json')

/** What a user's module does that has nothing but the package: it checks a receipt. */
const consumer = `import { Receipt, receiptHash, verifyReceipt } from '${packageNames.client}'
import { readFileSync } from 'node:fs'
const [{ receipt, iclKeys }] = JSON.parse(readFileSync(process.argv[2], 'utf8')).receipts
const parsed = Receipt.parse(receipt)
await verifyReceipt(parsed, { iclKeys })
console.log(await receiptHash(parsed))
`

/** A user's module whose types are checked. */
const typed = `import { type Client, createClient, Receipt, verifyReceipt } from '${packageNames.client}'
import { createWorkerProver } from '${packageNames.client}/prover'
import { privateKeyToAccount } from 'viem/accounts'

const startWorker = () => new Worker('prove-worker.js', { type: 'module' })
const client: Client = await createClient({
  icl: 'https://icl.example',
  rpcUrl: 'https://rpc.example',
  account: privateKeyToAccount(\`0x\${'1'.repeat(64)}\`),
  prover: createWorkerProver({ startWorker, wasmUrl: 'tfhe_bg.wasm' }),
})
const result = await client.infer('Why?', { model: 'openai:test' })
if (result.status === 'accepted') {
  const text: string = result.output
  await verifyReceipt(Receipt.parse(result.receipt))
  console.log(text)
}
// @ts-expect-error a number is no prompt
await client.infer(5, { model: 'openai:test' })
`

let folder: string
const at = (...names: string[]) => join(folder, ...names)
const bun = () => programOf('bun') ?? ''

let command: string
let client: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-packages-'))
  await writeFile(at('package.json'), '{"type":"module"}')
  await writeFile(at('check.mjs'), consumer)
  client = await installPackage('client', folder)
  command = await installPackage('command', folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('the command that packs shows its help, and makes no folder of that name', async () => {
  const script = join(root, 'scripts', 'pack', 'main.ts')
  const { stdout } = await run(bun(), [script, 'client', '--help'], { cwd: folder })
  expect(stdout).toContain('Usage: npm run pack:client')
  expect(await readdir(folder)).not.toContain('--help')
})

describe('the packed client', () => {
  // In CI the user's is the oldest that counts.
  const nodes = ['node', programOf('node')]
  it('checks a receipt on each runtime', async () => {
    const deno = ['run', '--no-prompt', '--allow-read', '--node-modules-dir=manual']
    const runs: [string | undefined, string[]][] = [
      ...nodes.map((node): [string | undefined, string[]] => [node, []]),
      [programOf('bun'), []],
      [programOf('deno'), deno],
    ]
    for (const [program, args] of runs) {
      if (program === undefined) continue
      const how = { cwd: folder, env: { PATH: userPath } }
      const { stdout } = await run(program, [...args, 'check.mjs', vectors], how)
      expect([program, stdout.trim()]).toEqual([program, valid.receipts[0]?.hash])
    }
  })

  it('shows its errors by the name that they are exported by', async () => {
    const failing = `import { SvcError } from '${packageNames.client}'
console.log(new SvcError('code', 'what failed', { hint: 'what to do' }))`
    await writeFile(at('fail.mjs'), failing)
    const { stdout } = await run('node', ['fail.mjs'], { cwd: folder, env: { PATH: userPath } })
    expect(stdout.split('\n')[0]).toBe('SvcError: what failed')
  })

  it('has types that a strict compiler takes', async () => {
    await writeFile(at('typed.ts'), typed)
    const options = ['--strict', '--noEmit', '--target', 'es2023', '--lib', 'es2023,dom']
    const how = ['--module', 'nodenext', '--skipLibCheck', 'false']
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    await run(tsc, [...options, ...how, 'typed.ts'], { cwd: folder })
  })

  it('is small in a browser, and loads the code for encryption when it is needed', async () => {
    await writeFile(
      at('page.js'),
      `import { createClient } from '${packageNames.client}'; globalThis.go = createClient`,
    )
    const how = ['--target=browser', '--splitting', '--minify', '--outdir=page']
    await run(bun(), ['build', ...how, 'page.js'], { cwd: folder })
    const sizes = new Map<string, number>()
    const names = ['page.js']
    for (const name of names) {
      const code = await readFile(at('page', name))
      sizes.set(name, gzipSync(code).length)
      const imports = code.toString().matchAll(/from ?"\.\/([^"]+)"/g)
      names.push(...[...imports].flatMap(([, next = '']) => (sizes.has(next) ? [] : [next])))
    }
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    expect(total).toBeLessThan(mostBytes)
    expect(sizes.size).toBeLessThan((await readdir(at('page'))).length)
  })

  it("imports zod, and nothing of a server's", async () => {
    const modules = (await readdir(join(client, 'dist'))).filter((name) => name.endsWith('.js'))
    const imported = new Set<string>()
    for (const name of modules) {
      const code = await readFile(join(client, 'dist', name), 'utf8')
      for (const [, found = ''] of code.matchAll(/^import[^"']*["']([^."'][^"']*)["']/gm)) {
        imported.add(found.split('/')[0] ?? '')
      }
    }
    expect(imported).toEqual(new Set(['zod']))
  })
})

describe('a page with the packed client', () => {
  const isLong = process.env.SVC_LONG_TESTS === '1'
  const proofs = isLong ? 'real proofs' : 'a mock of the proofs (real ones with SVC_LONG_TESTS=1)'
  itInBrowser(
    `is built by Vite, and gets a checked answer from an ICL of another origin, with ${proofs}${browserNote}`,
    async () => {
      const project = at('vite')
      const served = await servePage(join(project, 'dist'))
      const starting = startClientWorld({
        fhe: isLong ? 'real' : 'mock',
        iclEnv: { SVC_ICL_ALLOW_ORIGINS: served.url },
      })
      try {
        const [place] = await Promise.all([starting, buildPage('vite', client, project)])
        const { answer, refused } = await askInPage(served.url, await askedOf(place))
        expect(answer).toBe(rightAnswer)
        expect(refused).toMatch(refusal)
      } finally {
        await served.close()
        await (await starting).stop()
      }
    },
    patienceMs,
  )
})

describe('the packed commands', () => {
  const svc = (args: string[], options: string[] = []) =>
    run('node', [...options, join(command, 'bin', `${packageNames.command}.js`), ...args], {
      cwd: folder,
      env: { PATH: userPath },
    }).catch((error: { code: number; stdout: string; stderr: string }) => error)

  it('are told, and checked', async () => {
    expect(await svc(['--help'])).toMatchObject({ stdout: expect.stringContaining('gateway') })
    expect(await svc(['nonsense'])).toMatchObject({ code: 2 })
    const usage = `Usage: npx ${packageNames.command} infer`
    expect(await svc(['infer', '--help'])).toMatchObject({ stdout: expect.stringContaining(usage) })
    for (const name of ['infer', 'gateway']) {
      const { stdout, stderr, ...rest } = await svc([name, ...(name === 'infer' ? ['Why?'] : [])])
      expect(stdout + stderr).toContain('SVC_CLIENT_KEY_FILE: is missing')
      expect(rest).toMatchObject({ code: 1 })
    }
  })

  it('say on an older Node that they need a newer one', async () => {
    const older = `Object.defineProperty(process, 'versions', { value: { node: '20.18.3' } })`
    expect(await svc(['--help'], ['--import', `data:text/javascript,${older}`])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^svc needs Node 20\.19 or newer, and this is Node 20\.18\.3\. .*\n$/,
      ),
    })
  })

  it('check a receipt', async () => {
    const text = JSON.stringify(valid.receipts[0]?.receipt)
    await writeFile(at('good.json'), text)
    await writeFile(at('bad.json'), text.replace('"group":7', '"group":3'))
    expect(await svc(['receipt', 'verify', 'good.json'])).toMatchObject({
      stdout: expect.stringContaining('The receipt is consistent.'),
    })
    expect(await svc(['receipt', 'verify', 'bad.json'])).toMatchObject({ code: 1 })
  })
})
