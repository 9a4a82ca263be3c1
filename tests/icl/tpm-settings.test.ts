import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readFileText } from '../../icl/start/machine.ts'
import { parseSettings } from '../../icl/start/settings.ts'
import { revokedTpmsOf, tpmTrustOf } from '../../icl/start/tpm.ts'
import { sampleSettings } from '../sample-settings.ts'
import { testFolder } from '../test-folder.ts'
import { createVendor } from './attestation/tpm-vendor.ts'

const needed = {
  ...sampleSettings,
}
const settingsWith = (changes: Record<string, string>) => parseSettings({ ...needed, ...changes })

let folder: string
beforeEach(() => {
  folder = testFolder()
})

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

async function rootsFile(): Promise<string> {
  const { root, issuer } = await createVendor(Date.now())
  const pem = [root, issuer].map(({ certificate }) => certificate.toString('pem'))
  return file('roots.pem', pem.join('\n'))
}

describe('the settings of TPMs', () => {
  it('are off when they name no roots', () => {
    expect(tpmTrustOf(settingsWith({}), readFileText)).toBe(undefined)
    expect(revokedTpmsOf(settingsWith({}), readFileText).size).toBe(0)
  })

  it('trust every certificate of every file, and quote PCRs 0 to 7', async () => {
    const roots = await rootsFile()
    const trust = tpmTrustOf(
      settingsWith({ SVC_ICL_TPM_ROOTS: `${roots}, ${roots}` }),
      readFileText,
    )
    expect(trust?.roots).toHaveLength(4)
    expect(trust).toMatchObject({ models: undefined, highestTier: 0 })
    expect(trust?.policy.pcrs).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('take models, a policy and tiers; the lower tier counts', async () => {
    const settings = settingsWith({
      SVC_ICL_TPM_ROOTS: await rootsFile(),
      SVC_ICL_TPM_MODELS: 'INTC, id:53544D20/ST33',
      SVC_ICL_TPM_POLICY: file('policy.json', '{"pcrs":[7],"tier":3}'),
      SVC_ICL_TIERS: 'tpm=2',
    })
    expect(tpmTrustOf(settings, readFileText)).toMatchObject({
      models: [
        { manufacturer: 'INTC', model: undefined },
        { manufacturer: 'STM', model: 'ST33' },
      ],
      highestTier: 2,
      policy: { pcrs: [7] },
    })
  })

  it('read what is revoked: hashes and names, one a line', () => {
    const [ek, ak] = ['ab'.repeat(32), `000b${'cd'.repeat(32)}`]
    const text = `# revoked\n0x${ek.toUpperCase()}\n${ak} # stolen\n\n`
    const settings = settingsWith({ SVC_ICL_TPM_REVOKED: file('revoked', text) })
    expect([...revokedTpmsOf(settings, readFileText)]).toEqual([ek, ak])
  })

  it.each<readonly [string, Record<string, string>, RegExp]>([
    ['a file that is not there', { SVC_ICL_TPM_ROOTS: '/nowhere.pem' }, /cannot be read/],
    ['no certificate', { SVC_ICL_TPM_ROOTS: 'empty' }, /no PEM certificate/],
    ['half a certificate', { SVC_ICL_TPM_ROOTS: 'half' }, /certificate 1 cannot be read/],
    ['a policy that is no JSON', { SVC_ICL_TPM_POLICY: 'empty' }, /is not JSON/],
    ['a policy that cannot be meant', { SVC_ICL_TPM_POLICY: 'policy' }, /names a PCR twice/],
    ['something else that is revoked', { SVC_ICL_TPM_REVOKED: 'half' }, /in line 1/],
  ])('refuse %s', async (_, changes, message) => {
    const files: Record<string, string> = {
      empty: file('empty', ''),
      half: file('half', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'),
      policy: file('policy.json', '{"pcrs":[7,7]}'),
    }
    const named = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, files[value] ?? value]),
    )
    const settings = settingsWith({ SVC_ICL_TPM_ROOTS: await rootsFile(), ...named })
    expect(() => [
      tpmTrustOf(settings, readFileText),
      revokedTpmsOf(settings, readFileText),
    ]).toThrow(message)
  })

  it('mean nothing without roots', () => {
    const settings = settingsWith({ SVC_ICL_TPM_MODELS: 'INTC' })
    expect(() => tpmTrustOf(settings, readFileText)).toThrow('SVC_ICL_TPM_ROOTS')
  })

  it.each(['mock=1', 'tpm=256', 'tpm', 'other=1', 'tpm=-1'])('refuse the tiers %s', (tiers) => {
    expect(() => settingsWith({ SVC_ICL_TIERS: tiers })).toThrow('SVC_ICL_TIERS')
  })
})
