import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { checkTpm } from '../../../node/commands/doctor/local.ts'
import { initialise } from '../../../node/commands/init.ts'
import { lookForTpm } from '../../../node/commands/look-for-tpm.ts'
import { options } from '../../../node/commands/options.ts'
import { tpmRows } from '../../../node/commands/status.ts'
import { loadConfig } from '../../../node/config-file.ts'
import { anAddress } from '../../branded.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoSwtpm } from '../../tools/swtpm.ts'
import { runHere } from '../run-here.ts'
import { quietContext } from './context.ts'

const missing = whyNoSwtpm()
const given = options.init.parse({ backend: 'tpm', scryptN: '4096', yes: true })
const context = { clock: systemClock, random: systemRandom }
const address = `0x${'12'.repeat(20)}` as const

describe('commands on a machine with a TPM', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let folder: string
  let maker: SwtpmMaker
  let tpm: Swtpm
  let uncertified: Swtpm
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-tpm-commands-'))
    maker = await createSwtpmMaker()
    tpm = await maker.start()
    uncertified = await maker.start({ certified: false })
  })
  afterAll(async () => {
    await maker.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const environment = (changes: Record<string, string> = {}) => ({
    SVC_CONFIG_PATH: join(folder, 'config.json'),
    SVC_KEY_PASSWORD: 'a password of many letters',
    SVC_ICL_ENDPOINT: 'http://127.0.0.1:1',
    SVC_COFHE_ENDPOINT: 'http://127.0.0.1:1',
    SVC_SUPPORTED_MODEL_IDS: 'openai:gpt-4o-mini',
    ...changes,
  })
  const check = async (changes: Record<string, string>) =>
    checkTpm(await loadConfig(environment(changes), () => {}), anAddress(address), context)
  const writeRecord = (ek: string) => {
    const claims = { att: { backend: 'tpm', ek, ak: '000b', reset: 1 } }
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    const record = {
      version: 1,
      address,
      icl: 'http://127.0.0.1:1',
      chain_id: 1,
      backend: 'tpm',
      certificate: `e30.${payload}.e30`,
      expires_at: 2_000_000_000,
    }
    return writeFile(join(folder, 'attestation.json'), JSON.stringify(record))
  }

  it('init shows the TPM that it found, and keeps where it is', async () => {
    const quiet = quietContext(environment())
    const flags = { ...given, tpm: tpm.setting }
    await initialise(flags, quiet)
    const shown = quiet.printed.find((line) => line.startsWith('TPM:'))
    expect(shown).toMatch(
      /TPM: +IBM .*, firmware [\d.]+, endorsement key [0-9a-f]{16}\.\.\. at unix:/,
    )
    const file = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'))
    expect(file).toMatchObject({ attestation_backend: 'tpm', tpm: tpm.setting })

    const json = quietContext(environment())
    await initialise({ ...flags, tpm: '/nowhere/tpm', json: true, force: true }, json)
    expect(JSON.parse(json.printed.join('')).tpm).toMatchObject({
      missing: expect.stringContaining('there is no TPM 2.0 at /nowhere/tpm'),
      hint: expect.stringContaining('firmware'),
    })
  })

  it('init refuses two backends, and a TPM that is none', async () => {
    const both = ['init', '--backend', 'tpm', '--attestation-backend', 'mock']
    expect(await runHere(both, environment())).toMatchObject({ code: 2 })
    const wrong = { ...given, force: true, tpm: 'tpm0' }
    await expect(initialise(wrong, quietContext(environment()))).rejects.toThrow('swtpm:HOST:PORT')
  })

  it('doctor has the TPM do all that attesting takes', async () => {
    const found = await check({ SVC_TPM: tpm.setting })
    expect(found).toMatchObject({ status: 'ok', name: 'tpm' })
    expect(found.detail).toMatch(/certified; makes quotes \(start \d+, resume \d+\)/)
    const loaded = await loadConfig(environment(), () => {})
    expect(await checkTpm(loaded, undefined, context)).toMatchObject({ status: 'skipped' })
  })

  it('doctor says what to do: no TPM, none for this user, no certificate, another TPM', async () => {
    const absent = await check({ SVC_TPM: '/nowhere/tpm' })
    expect(absent).toMatchObject({ status: 'failed', remedy: expect.stringContaining('firmware') })
    const bare = await check({ SVC_TPM: uncertified.setting })
    expect(bare).toMatchObject({
      status: 'failed',
      remedy: expect.stringContaining('tpm_certificates'),
    })
    await writeRecord('ab'.repeat(32))
    const another = await check({ SVC_TPM: tpm.setting })
    expect(another).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('another TPM'),
      remedy: expect.stringContaining('svc-node attest'),
    })
    const found = await lookForTpm({ config: { tpm: tpm.setting }, configPath: '' }, context)
    if (!('ek' in found.json)) throw new Error(found.text)
    await writeRecord(found.json.ek)
    expect(await check({ SVC_TPM: tpm.setting })).toMatchObject({ status: 'ok' })
  })

  it('status names the keys that the ICL enrolled', async () => {
    await writeRecord('cd'.repeat(32))
    const record = JSON.parse(await readFile(join(folder, 'attestation.json'), 'utf8'))
    expect(tpmRows(record)).toEqual([
      ['TPM', `endorsement key ${'cd'.repeat(32)}`],
      ['', 'attestation key 000b'],
    ])
    expect(tpmRows({ ...record, certificate: 'not.a.jwt' })).toEqual([])
  })
})
