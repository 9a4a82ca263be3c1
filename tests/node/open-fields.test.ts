import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtBinary } from '../binary/executable.ts'
import { until } from '../eventually.ts'
import { runHere } from './run-here.ts'
import { startStubChain } from './stub-chain.ts'
import { startStubIcl } from './stub-icl.ts'

const binary = await builtBinary()
const folder = await mkdtemp(join(tmpdir(), 'svc-fields-'))
const configPath = join(folder, 'config.json')
const icl = await startStubIcl()
const chain = await startStubChain()
afterAll(async () => {
  await icl.close()
  await chain.close()
  await rm(folder, { recursive: true })
})

const env = {
  PATH: process.env.PATH ?? '',
  HOME: folder,
  SVC_CONFIG_PATH: configPath,
  SVC_KEY_PASSWORD: 'a password',
  SVC_MOCK_ATTESTATION_KEY: '0123456789abcdef0123456789abcdef',
}

const configure = async (more: object) => {
  const config = JSON.parse(await readFile(configPath, 'utf8'))
  await writeFile(configPath, JSON.stringify({ ...config, ...more }))
}

describe('a configuration with a field that the node does not know', () => {
  beforeAll(async () => {
    const at = ['--icl-endpoint', icl.url, '--cofhe-endpoint', chain.url, '--models', 'openai:x']
    expect(await runHere(['init', ...at, '--scrypt-n', '4096'], env)).toMatchObject({ code: 0 })
    await configure({ notes: 'rack 3' })
  })

  it('is accepted: each command warns of the field, and the daemon runs', async () => {
    const line = `${configPath}: notes: unknown field, ignored`
    expect(await runHere(['attest'], env)).toMatchObject({ code: 0, err: `warning: ${line}\n` })
    const child = spawn(binary, ['run'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let log = ''
    child.stdout.on('data', (chunk) => {
      log += chunk
    })
    await until(() => log.includes('Heartbeat sent to ICL') || child.exitCode !== null)
    child.kill('SIGTERM')
    expect(log).toMatch(/Daemon starting.*\n(.*\n)*.*Heartbeat sent to ICL/)
    expect(log).toContain(`[WARNING] `)
    expect(log).toContain(line)
  })

  it('is refused by the daemon where the field is a misspelling', async () => {
    await configure({ drain_second: 3 })
    expect(await runHere(['run'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('drain_second: unknown field, did you mean drain_seconds?'),
    })
  })
})
