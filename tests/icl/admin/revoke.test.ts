import { beforeEach, describe, expect, it } from 'vitest'
import { createRevocations } from '../../../icl/records/revocations.ts'
import { attestedNode } from '../../../icl/rules/eligibility.ts'
import { systemClock } from '../../../lib/system.ts'
import { sampleReading } from '../../sample-reading.ts'
import { nodeA, nodeB } from '../rules/sample-job.ts'
import { admin, freshStore, store } from './admin-store.ts'

freshStore()

const hour = 3_600_000
const tpmA = { ek: 'aa'.repeat(32), ak: `000b${'ab'.repeat(32)}` }
const tpmB = { ek: 'ba'.repeat(32), ak: `000b${'bb'.repeat(32)}` }

/** A node with a certificate that stands on a TPM. */
async function attest(address: typeof nodeA, id: string, tpm: typeof tpmA): Promise<void> {
  const now = Date.now()
  const certificate = {
    id,
    backend: 'tpm' as const,
    issuedAt: now - hour,
    expiresAt: now + hour,
    thumbprint: 't',
    session: { key: 'k', not_after: 1, signature: '0x' as const },
    tpm,
  }
  await store.save({
    kind: 'node',
    node: attestedNode(address, certificate, sampleReading),
    base: 0,
  })
  const key = `ek:${tpm.ek}`
  await store.save({ kind: 'key', key, value: address, now, expiresAt: now + hour })
}

const attested = async () => (await store.listNodes(Date.now())).map(({ address }) => address)
const revocations = () => createRevocations({ store, clock: systemClock }, new Set())

describe('revoke', () => {
  beforeEach(async () => {
    await attest(nodeA, 'jti-a', tpmA)
    await attest(nodeB, 'jti-b', tpmB)
  })

  it.each([
    ['--ek', `0x${tpmA.ek.toUpperCase()}`],
    ['--ak', tpmA.ak],
    ['--jti', 'jti-a'],
  ])('%s ends the certificates that stand on it, and no others', async (flag, id) => {
    const { code, text } = await admin(['revoke', flag, id])
    expect([code, text]).toEqual([0, expect.stringContaining(nodeA)])
    expect(await attested()).toEqual([nodeB])
    expect((await admin(['audit'])).text).toContain(`revoke ${flag}`)
  })

  it('of a TPM that nobody uses is remembered, until it is lifted', async () => {
    const ek = 'cc'.repeat(32)
    expect((await admin(['revoke', '--ek', ek])).text).toContain('no certificate stood on it')
    expect(await revocations().includes([{ kind: 'ek', id: ek }])).toBe(true)
    expect((await admin(['unrevoke', '--ek', ek])).code).toBe(0)
    expect(await revocations().includes([{ kind: 'ek', id: ek }])).toBe(false)
    expect((await admin(['unrevoke', '--ek', ek])).code).toBe(1)
  })

  it.each([
    [['revoke', '--ek', 'x']],
    [['revoke', '--ak', 'aa'.repeat(32)]],
    [['revoke', '--jti', 'a b']],
    [['revoke', nodeA, '--jti', 'jti-a']],
    [['revoke', '--ek', tpmA.ek, '--jti', 'jti-a']],
    [['unrevoke']],
  ])('%j is wrong usage', async (args) => {
    expect((await admin(args)).code).toBe(2)
    expect(await attested()).toHaveLength(2)
  })

  it('and release-ek ends the certificate that stands on the TPM', async () => {
    expect((await admin(['release-ek', tpmA.ek])).code).toBe(0)
    expect(await attested()).toEqual([nodeB])
    expect((await admin(['nodes', 'show', nodeB])).code).toBe(0)
  })
})
