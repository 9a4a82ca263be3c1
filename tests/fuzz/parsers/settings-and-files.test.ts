import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { describeSettings, parseSettings } from '../../../icl/start/settings.ts'
import { parseDeployment } from '../../../lib/deployment.ts'
import { minScryptN, readKeystore, writeKeystore } from '../../../lib/host/keystore.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemRandom } from '../../../lib/system.ts'
import { parseConfig } from '../../../node/config.ts'
import { parseLines } from '../../../node/journal/json-lines.ts'
import { JournalStep } from '../../../node/journal/steps.ts'
import { fileFolder } from '../../test-folder.ts'
import { changedJson, expectTyped, expectUnpolluted, forAll, hostileJson, itHolds } from './runs.ts'

const folder = fileFolder()

const typed = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    expectTyped(error)
  }
}
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    'off',
    '60/60',
    '1/0',
    '-1',
    '1e9',
    'https://',
    'https://a.test/b?c',
    'http://[::1',
    '__proto__',
    '0x',
    'tpm=2',
    ',,,',
  ),
)

describe("the node's configuration", () => {
  const good = {
    attestation_backend: 'mock',
    icl_endpoint: 'https://icl.example',
    cofhe_endpoint: 'https://rpc.example',
    supported_model_ids: ['openai:a'],
    model_aliases: { a: 'openai:a' },
  }

  itHolds('of any JSON, and with any value in any place, is taken or refused', async () => {
    expect(parseConfig(good, {}, 'config.json').supported_model_ids).toEqual(['openai:a'])
    await forAll(300, fc.oneof(hostileJson, changedJson(good)), (file) =>
      typed(() => parseConfig(file, {}, 'config.json')),
    )
    expectUnpolluted()
  })

  itHolds('takes any environment, or says what is wrong with it', async () => {
    const names = [
      'SVC_ICL_ENDPOINT',
      'SVC_IPFS_GATEWAY',
      'SVC_COFHE_URLS',
      'SVC_SUPPORTED_MODEL_IDS',
      'SVC_TPM',
      'SVC_LOG_LEVEL',
      'SVC_MOCK_ATTESTATION_KEY',
    ]
    await forAll(200, fc.dictionary(fc.constantFrom(...names), text), (environment) =>
      typed(() => parseConfig(good, environment, 'config.json')),
    )
  })
})

describe("the ICL's settings", () => {
  const names = [...new Set(describeSettings().match(/SVC_ICL_[A-Z_0-9]+/g) ?? [])]

  itHolds('of any text are taken or refused, and no secret is repeated', async () => {
    expect(names.length).toBeGreaterThan(20)
    await forAll(
      200,
      fc.dictionary(fc.constantFrom(...names), text, { maxKeys: 6 }),
      (environment) => typed(() => parseSettings(environment)),
    )
    const secret = 'not-hex-but-still-secret'
    for (const name of names) {
      try {
        parseSettings({ [name]: secret })
      } catch (error) {
        expect(String(error)).not.toContain(secret)
      }
    }
  })
})

describe('files', () => {
  itHolds('of addresses: any text is refused', async () => {
    const written = fc.oneof(
      fc.string({ unit: 'binary' }),
      hostileJson.map((value) => JSON.stringify(value)),
    )
    await forAll(300, written, (file) => typed(() => parseDeployment(file)))
  })

  itHolds('of a wallet: with any value in any place, the key or a refusal', async () => {
    const path = join(folder, 'keystore.json')
    const privateKey = `0x${'11'.repeat(32)}` as const
    await writeKeystore(path, { privateKey, password: 'right', scryptN: minScryptN }, systemRandom)
    const whole: unknown = JSON.parse(readFileSync(path, 'utf8'))
    await forAll(60, fc.oneof(hostileJson, changedJson(whole)), async (json) => {
      writeFileSync(path, JSON.stringify(json))
      const read = await readKeystore(path, 'right', () => {}).catch((error: unknown) => error)
      if (read !== privateKey) expect(read).toBeInstanceOf(SvcError)
    })
  })

  itHolds('of a wallet: scrypt parameters that no machine can use', async () => {
    const path = join(folder, 'odd.json')
    await writeKeystore(
      path,
      { privateKey: `0x${'11'.repeat(32)}`, password: 'a', scryptN: minScryptN },
      systemRandom,
    )
    const whole = JSON.parse(readFileSync(path, 'utf8')) as { crypto: { kdfparams: object } }
    for (const odd of [
      { n: 3 },
      { n: 4_097 },
      { n: 2 ** 23 },
      { r: 65 },
      { p: 0 },
      { dklen: 16 },
    ]) {
      const { crypto } = whole
      const kdfparams = { ...crypto.kdfparams, ...odd }
      writeFileSync(path, JSON.stringify({ ...whole, crypto: { ...crypto, kdfparams } }))
      await expect(readKeystore(path, 'a', () => {})).rejects.toMatchObject({
        code: 'keystore-invalid',
      })
    }
  })

  itHolds("of a node's work: lines that are none are counted, never failed on", async () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }).map((cut) => cut.replaceAll('\n', '')),
      hostileJson.map((value) => JSON.stringify(value)),
      changedJson({ step: 'ended', jobId: `0x${'a'.repeat(64)}`, fence: 1 }).map((value) =>
        JSON.stringify(value),
      ),
    )
    await forAll(200, fc.array(line, { maxLength: 6 }), (lines) => {
      const { records, skipped } = parseLines(lines.join('\n'), JournalStep)
      expect(records.length + skipped).toBe(lines.filter((each) => each !== '').length)
    })
    expectUnpolluted()
  })
})
