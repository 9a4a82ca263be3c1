import { spawn, spawnSync } from 'node:child_process'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { readKeystore } from '../../lib/host/keystore.ts'
import { lockPathOf, takeLock } from '../../node/journal/lock.ts'
import manifest from '../../package.json' with { type: 'json' }
import { builtBinary } from '../binary/executable.ts'
import { eventually } from '../eventually.ts'
import { runHere } from './run-here.ts'
import { startStubChain } from './stub-chain.ts'
import { hmacInvalid, startStubIcl, unavailable } from './stub-icl.ts'

const main = join(import.meta.dirname, '..', '..', 'node', 'main.ts')
const table = join(main, '..', 'command-table.ts')
const binary = await builtBinary()
const privateKey = `0x${'17'.repeat(32)}` as const
const address = privateKeyToAccount(privateKey).address.toLowerCase()
const password = 'a password that no line may show'
const mockKey = '0123456789abcdef0123456789abcdef'

const folder = await mkdtemp(join(tmpdir(), 'svc-node-'))
const icl = await startStubIcl()
const chain = await startStubChain()
afterAll(async () => {
  await icl.close()
  await chain.close()
  await rm(folder, { recursive: true })
})

const environment = (name: string, more: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  HOME: folder,
  SVC_CONFIG_PATH: join(folder, name, 'config.json'),
  SVC_KEY_PASSWORD: password,
  SVC_MOCK_ATTESTATION_KEY: mockKey,
  SVC_IMPORT_PRIVATE_KEY: privateKey,
  ...more,
})

function start(args: readonly string[], env: Record<string, string>) {
  const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { child, ended, out: text(child.stdout), err: text(child.stderr) }
}

async function run(args: readonly string[], env = environment('a')) {
  const { ended, out, err } = start(args, env)
  return { code: await ended, out: await out, err: await err }
}

const init = (name: string, ...more: string[]) =>
  runHere(
    [
      ...['init', '--icl-endpoint', icl.url, '--cofhe-endpoint', chain.url],
      ...['--models', 'openai:gpt-x', '--scrypt-n', '4096', ...more],
    ],
    environment(name),
  )

describe('the command line', () => {
  it('prints its version, bare', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' })
  })

  it.each([
    'init --scrypt-n 100',
    'init --scrypt-n 5000',
    'register --stake 1,5',
    'register --tiers 0,256',
    'register --node-registry 0x12',
    'answer 0x12 --text x',
    'attest --mock --backend tpm',
    'run --log-format xml',
    'transactions --replace 1 --cancel 2',
  ])('ends with 2 on `%s`', async (line) => {
    const { code, err } = await runHere(line.split(' '), {})
    expect([code, err]).toEqual([2, expect.stringMatching(/^error: .+\nhint: .+\n$/)])
  })

  it('ends with 74 when its help cannot be written, also the help of the daemon', async () => {
    const full = ['-c', 'exec "$@" >/dev/full', 'sh', binary, 'run', '--help']
    const { status, stderr } = spawnSync('sh', full, { encoding: 'utf8' })
    expect([status, stderr]).toEqual([74, expect.stringContaining('cannot be written')])
  })

  it.each([
    ['--version', main, []],
    ['a wrong command line', table, ['zod', 'jose/base64url', 'cac']],
  ])('loads little for %s', async (_, start, expected) => {
    const scanner = new Bun.Transpiler({ loader: 'ts' })
    const packages = new Set<string>()
    const seen = new Set<string>()
    const visit = async (path: string): Promise<void> => {
      if (seen.has(path)) return
      seen.add(path)
      for (const { kind, path: name } of scanner.scanImports(await readFile(path, 'utf8'))) {
        if (kind !== 'import-statement') continue
        if (!name.startsWith('.')) packages.add(name)
        else if (name.endsWith('.ts')) await visit(join(path, '..', name))
      }
    }
    await visit(start)
    expect(packages).toEqual(new Set(expected))
    expect(seen.size).toBeGreaterThan(5)
  })

  it('says what to do first, without a stack', async () => {
    const { code, err } = await run(['run'], environment('nothing'))
    expect(code).toBe(1)
    expect(err).toMatch(
      /^error: there is no configuration at .+\nhint: Run `svc-node init` first.+\n$/,
    )
  })
})

describe('svc-node init', () => {
  it('makes a configuration and a keystore for its owner only', async () => {
    const { code, out } = await init('b', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ address })
    for (const file of ['config.json', 'keystore.json']) {
      expect((await stat(join(folder, 'b', file))).mode & 0o777).toBe(0o600)
    }
    expect((await stat(join(folder, 'b'))).mode & 0o777).toBe(0o700)
    expect(await readFile(join(folder, 'b', 'config.json'), 'utf8')).not.toContain(mockKey)
  })

  it('overwrites nothing, and with --force keeps the old keystore', async () => {
    const again = await init('b')
    expect(again.code).toBe(1)
    expect(again.err).toContain('exists already')
    expect((await init('b', '--force')).code).toBe(0)
    expect(await readdir(join(folder, 'b'))).toContain(`keystore-${address.slice(2)}.json`)
  })

  it('reports every mistake of the command line at once', async () => {
    const { code, err } = await runHere(['init', '--models', 'gpt'], environment('c'))
    expect(code).toBe(1)
    expect(err).toContain('icl_endpoint')
    expect(err).toContain('cofhe_endpoint')
  })

  it('takes the password from a file, and says when others may read it', async () => {
    const path = join(folder, 'password-file')
    await writeFile(path, `${password}\n`, { mode: 0o644 })
    const file = { SVC_KEY_PASSWORD: '', SVC_KEY_PASSWORD_FILE: path }
    const args = ['init', '--icl-endpoint', icl.url, '--cofhe-endpoint', chain.url]
    const env = environment('p', file)
    const more = ['--models', 'openai:x', '--scrypt-n', '4096']
    const { code, err } = await runHere([...args, ...more], env)
    expect([code, err]).toEqual([0, expect.stringContaining(`others may read ${path}`)])
    const opened = await readKeystore(join(folder, 'p', 'keystore.json'), password, () => {})
    expect(opened).toBe(privateKey)
  })

  it('refuses a wrong option even while the environment overrides it, and says when it does', async () => {
    const args = [
      'init',
      '--cofhe-endpoint',
      chain.url,
      '--models',
      'openai:x',
      '--scrypt-n',
      '4096',
    ]
    const env = environment('o', { SVC_ICL_ENDPOINT: icl.url })
    const wrong = await runHere([...args, '--icl-endpoint', 'garbage'], env)
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('icl_endpoint')])
    expect(wrong.err).toContain('hint: Correct the options or the environment')
    const other = await runHere([...args, '--icl-endpoint', 'http://127.0.0.1:9'], env)
    expect([other.code, other.err]).toEqual([0, expect.stringContaining('SVC_ICL_ENDPOINT says')])
  })

  it('writes both files or neither', async () => {
    expect((await init('w')).code).toBe(0)
    const [keystore, config] = ['keystore.json', 'config.json'].map((file) =>
      join(folder, 'w', file),
    ) as [string, string]
    const before = await readFile(keystore, 'utf8')
    await rm(config)
    // Nothing can be put in its place.
    await mkdir(join(config, 'in the way'), { recursive: true })
    const { code, err } = await init('w', '--force')
    expect([code, err]).toEqual([1, expect.stringContaining('hint: Check the free space')])
    expect(await readFile(keystore, 'utf8')).toBe(before)
    expect((await readdir(join(folder, 'w'))).toSorted()).toEqual([
      'config.json',
      'keystore.json',
      'run.lock',
    ])
  })

  it('changes no files that a daemon uses', async () => {
    expect((await init('l')).code).toBe(0)
    const release = await takeLock(lockPathOf(join(folder, 'l', 'config.json')))
    const { code, err } = await init('l', '--force')
    release()
    expect([code, err]).toEqual([1, expect.stringContaining('another svc-node runs')])
    expect(await readdir(join(folder, 'l'))).toHaveLength(3)
  })

  it.each(['no key', '12', '0'.repeat(64)])('refuses %s as the key to import', async (text) => {
    const env = environment('k', { SVC_IMPORT_PRIVATE_KEY: text })
    const { code, err } = await runHere(['init', '--icl-endpoint', icl.url], env)
    expect([code, err]).toEqual([1, expect.stringContaining('SVC_IMPORT_PRIVATE_KEY')])
  })

  it('refuses a password that is too short', async () => {
    const args = ['init', '--icl-endpoint', icl.url, '--cofhe-endpoint', chain.url]
    const env = environment('s', { SVC_KEY_PASSWORD: 'seven ch'.slice(1) })
    const { code, err } = await runHere(
      [...args, '--models', 'openai:x,', '--scrypt-n', '4096'],
      env,
    )
    expect([code, err]).toEqual([1, expect.stringContaining('at least 8 characters')])
  })

  it('needs a password', async () => {
    const env = { ...environment('c'), SVC_KEY_PASSWORD: '' }
    const args = ['init', '--icl-endpoint', icl.url, '--cofhe-endpoint', icl.url, '--models']
    const { code, err } = await runHere([...args, 'openai:x'], env)
    expect(code).toBe(1)
    expect(err).toContain('SVC_KEY_PASSWORD')
  })
})

describe('svc-node attest', () => {
  it('keeps a record without any secret, and each time attests a new session key', async () => {
    expect((await init('d')).code).toBe(0)
    const { code, out } = await runHere(['attest', '--mock'], environment('d'))
    expect(code).toBe(0)
    expect(out).toContain(`Attested ${address}`)
    const path = join(folder, 'd', 'attestation.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const record = JSON.parse(await readFile(path, 'utf8'))
    expect(record).toMatchObject({ address, icl: icl.url, backend: 'mock', chain_id: 31_337 })

    await runHere(['attest'], environment('d'))
    const attestations = icl.seen.filter(({ path: to }) => to === '/internal/attestation/verify')
    const keys = attestations.map(({ body }) => JSON.parse(body).session_public_key)
    expect(new Set(keys).size).toBe(2)
    expect(attestations[0]?.headers['signature-input']).toContain(`erc8128:31337:${address}`)
  })

  it('needs no key with --mock beside an ICL for development, and writes its key nowhere', async () => {
    const env = environment('d', { SVC_MOCK_ATTESTATION_KEY: '' })
    icl.answers.mockKey = mockKey
    const { code, out, err } = await runHere(['attest', '--mock'], env)
    delete icl.answers.mockKey
    expect([code, err]).toEqual([0, ''])
    const names = await readdir(join(folder, 'd'), { recursive: true, withFileTypes: true })
    const files = names.filter((one) => one.isFile())
    const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8'))
    expect([out, ...(await Promise.all(texts))].join('')).not.toContain(mockKey)
    const without = await runHere(['attest', '--mock'], env)
    expect(without.code).toBe(1)
    expect(without.err).toContain('mock attestation needs SVC_MOCK_ATTESTATION_KEY')
  })

  it('is refused while the daemon runs, whose run it would end', async () => {
    const before = icl.seen.length
    const unlock = await takeLock(join(folder, 'd', 'run.lock'))
    const { code, err } = await runHere(['attest'], environment('d'))
    unlock()
    expect([code, err]).toEqual([1, expect.stringContaining('another svc-node runs')])
    expect(icl.seen.length).toBe(before)
  })

  it('ends with 1 when the ICL refuses the evidence, and says what to check', async () => {
    const { verify } = icl.answers
    icl.answers.verify = hmacInvalid
    const { code, err } = await runHere(['attest'], environment('d'))
    icl.answers.verify = verify
    expect(code).toBe(1)
    expect(err).toContain('attestation-hmac-invalid')
    expect(err).toContain('hint: Check the mock attestation key (mock_attestation_key, SVC_M')
  })

  it('warns of a keystore that others may read', async () => {
    const path = join(folder, 'd', 'keystore.json')
    await chmod(path, 0o644)
    const { code, err } = await runHere(['attest'], environment('d'))
    await chmod(path, 0o600)
    const warning = `warning: others may read ${path} (mode 0644): chmod 600 ${path}\n`
    expect([code, err.split(warning).length]).toEqual([0, 2])
  })

  it('writes nothing of an ICL to the terminal but words of its own line', async () => {
    const { verify } = icl.answers
    const forged = '\n[2026-11-27T00:00:00] [INFO] [0x1234..5678] Leader result accepted\n'
    const body = { ...Object(hmacInvalid.body), detail: `\u001b[2Jall is well\u202e${forged}` }
    icl.answers.verify = { ...hmacInvalid, body }
    const { err } = await runHere(['attest'], environment('d'))
    icl.answers.verify = verify
    expect(err).toContain('\\u001b[2Jall is well\\u202e [2026-11-27T00')
    expect(err).not.toMatch(/^\[/m)
  })

  it('ends with 75 when trying again may help', async () => {
    const { verify } = icl.answers
    icl.answers.verify = unavailable
    expect((await runHere(['attest'], environment('d'))).code).toBe(75)
    icl.answers.verify = verify
    const env = environment('d', { SVC_ICL_ENDPOINT: 'http://127.0.0.1:9' })
    expect((await runHere(['attest'], env)).code).toBe(75)
  })

  it('does not attest with an ICL that says it lives elsewhere', async () => {
    icl.answers.publicUrl = 'https://other.example'
    const { code, err } = await runHere(['attest'], environment('d'))
    delete icl.answers.publicUrl
    expect(code).toBe(1)
    expect(err).toContain('says that its public address is https://other.example')
  })

  it('says so when the ICL accepts no TPMs, with or without a TPM in this machine', async () => {
    expect((await init('e', '--backend', 'tpm')).code).toBe(0)
    const { code, err } = await runHere(['attest'], environment('e'))
    expect(code).toBe(1)
    expect(err).toContain('accepts no TPMs (attestation-backend-refused)')
  })

  it('wants the right password', async () => {
    const { code, err } = await runHere(['attest'], environment('d', { SVC_KEY_PASSWORD: 'wrong' }))
    expect(code).toBe(1)
    expect(err).toContain('the password does not open')
  })
})

describe('svc-node run', () => {
  it('ends with 1 when the node was never attested', async () => {
    expect((await init('f')).code).toBe(0)
    const { code, err } = await run(['run'], environment('f'))
    expect(code).toBe(1)
    expect(err).toContain('error: no attestation found, run `svc-node attest` first')
  })

  it('ends with 1 when the record is of another ICL', async () => {
    const env = environment('d', { SVC_ICL_ENDPOINT: 'http://127.0.0.1:9' })
    expect(await run(['run'], env)).toMatchObject({ code: 1 })
  })

  it('says which file it cannot log to', async () => {
    const env = environment('d', { SVC_LOG_FILE: join(folder, 'd', 'config.json', 'log') })
    const { code, err } = await run(['run'], env)
    expect([code, err]).toEqual([1, expect.stringContaining('hint: Check log_file')])
  })

  it('shows no access key of the chain RPC, whatever DEBUG says', async () => {
    const rpc = { SVC_COFHE_ENDPOINT: 'http://127.0.0.1:9/v3/an-access-key', DEBUG: '*' }
    const { code, out, err } = await run(['register', '--yes'], environment('d', rpc))
    expect(code).toBe(75)
    expect(out + err).not.toContain('an-access-key')
  })

  it('ends with 1 when the record is damaged', async () => {
    for (const [text, why] of [
      ['{}', 'is no attestation record'],
      ['{"version"', 'attestation.json cannot be read'],
    ] as const) {
      await writeFile(join(folder, 'f', 'attestation.json'), text)
      const { err } = await run(['run'], environment('f'))
      expect(err).toContain(why)
      expect(err).toContain('hint: Delete the file and run `svc-node attest`.')
    }
  })

  it('ends with 1 when its chain RPC is for another chain, or keys would leave the machine', async () => {
    const other = await startStubChain(5)
    const env = environment('d', { SVC_COFHE_ENDPOINT: other.url })
    const { code, err } = await run(['run'], env)
    await other.close()
    expect(code).toBe(1)
    expect(err).toContain('is for chain 5, but the ICL works on chain 31337')
    const remote = environment('d', { SVC_COFHE_ENDPOINT: 'https://rpc.example' })
    expect(await run(['run'], remote)).toMatchObject({
      code: 1,
      err: expect.stringContaining('the chain RPC is at rpc.example'),
    })
  })

  it('is told by doctor and status that its disk takes no files', async () => {
    // With a limit for files, a write fails as on a full disk.
    const limited = [`trap '' XFSZ; ulimit -f 8; exec "$@"`, 'sh', binary]
    for (const command of ['doctor', 'status']) {
      const child = spawn('sh', ['-c', ...limited, command, '--json'], {
        env: environment('d'),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const { checks, troubles, takes_work } = JSON.parse(await text(child.stdout))
      const known = [...(checks ?? []), ...(troubles ?? [])].find(
        ({ name, code }) => name === 'disk' || code === 'disk-unwritable',
      )
      expect(known).toMatchObject({
        remedy: expect.stringContaining('Make room on its disk'),
      })
      if (command === 'status') expect(takes_work).toBe(false)
    }
  })

  it('ends at once without the mock key that its starts need', async () => {
    const env = environment('d', { SVC_MOCK_ATTESTATION_KEY: '' })
    const path = join(folder, 'd', 'attestation.json')
    const record = await readFile(path, 'utf8')
    await writeFile(path, JSON.stringify({ ...JSON.parse(record), chain_id: 5 }))
    const seenBefore = icl.seen.length
    const elsewhere = await run(['run'], env)
    await writeFile(path, record)
    expect(icl.seen.length).toBe(seenBefore)
    for (const { code, err } of [elsewhere, await run(['run'], env)]) {
      expect(code).toBe(1)
      expect(err).toContain('mock attestation needs SVC_MOCK_ATTESTATION_KEY')
      expect(err).toContain('for `svc-node run`, too')
    }
  })

  it('waits for its chain RPC', async () => {
    const env = environment('d', { SVC_COFHE_ENDPOINT: 'http://127.0.0.1:9' })
    const { child, ended, out } = start(['run'], env)
    child.stdout.once('data', () => child.kill('SIGTERM'))
    expect(await ended).toBe(0)
    expect(await out).toMatch(/\[WARNING\] .* Waiting for the chain RPC, next try in 2 s: /)
  })

  it('continues after SIGHUP without a terminal, with a new log file where the old one was moved away', async () => {
    const file = join(folder, 'rotated.log')
    const { child, ended } = start(['run'], environment('d', { SVC_LOG_FILE: file }))
    const logs = (fragment: string) =>
      eventually(`the log has "${fragment}"`, async () =>
        (await readFile(file, 'utf8').catch(() => '')).includes(fragment),
      )
    await logs('Heartbeat sent')
    await rename(file, `${file}.moved`)
    child.kill('SIGHUP')
    await logs('SIGHUP received')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(await readFile(file, 'utf8')).toMatch(/SIGTERM received(.|\n)*Daemon stopped/)
  })

  for (const [signal, level] of [
    ['SIGINT', 'INFO'],
    ['SIGTERM', 'DEBUG'],
  ] as const) {
    it(`runs until ${signal} at level ${level}, says goodbye to the ICL and ends with 0`, async () => {
      const seenBefore = icl.seen.length
      const { child, ended, out, err } = start(['run'], environment('d', { SVC_LOG_LEVEL: level }))
      const seen = (start: string) =>
        icl.seen.slice(seenBefore).filter(({ path }) => path.startsWith(start))
      const polls = () => seen('/internal/assignments/')
      while (polls().length === 0 && child.exitCode === null) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      child.kill(signal)
      expect(await ended).toBe(0)
      // The stub asks for this period.
      expect(polls()[0]?.path).toMatch(/\?wait=7$/)
      const bodies = seen('/internal/heartbeat').map(({ body }) => JSON.parse(body))
      expect(bodies[0]).toMatchObject({ operator_address: address, free_slots: 2 })
      expect(bodies.at(-1)).toMatchObject({ final: true, free_slots: 0 })
      const lines = (await out).trim().split('\n')
      const format =
        /^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] \[(DEBUG|INFO|WARNING|ERROR)\] \[0x[0-9a-f]{4}\.\.[0-9a-f]{4}\] .+$/
      for (const line of lines) expect(line).toMatch(format)
      expect(lines.join('\n')).toContain('Daemon starting')
      expect(lines.join('\n')).toContain('Model openai:gpt-x is not offered: OPENAI_API_KEY')
      for (const secret of [password, mockKey, privateKey.slice(2)]) {
        expect((await out) + (await err)).not.toContain(secret)
      }
    })
  }
})
