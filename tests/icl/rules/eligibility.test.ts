import { describe, expect, it } from 'vitest'
import {
  attestedNode,
  type Certificate,
  type ChainNode,
  ended,
  ineligibleReasons,
  type Node,
  servedTiers,
} from '../../../icl/rules/eligibility.ts'
import { isCountingBack } from '../../../icl/rules/enrollment.ts'
import { noFormerRuns } from '../../../icl/rules/runs.ts'
import { newcomer } from '../../../lib/reputation.ts'
import { sampleReading } from '../../sample-reading.ts'
import { nodeA } from './sample-job.ts'

const now = 1_000_000_000
const certificate: Certificate = {
  id: 'c',
  backend: 'mock',
  issuedAt: now - 1_000,
  expiresAt: now + 3_600_000,
  thumbprint: 't',
  session: { key: 'k', not_after: (now + 3_600_000) / 1000, signature: '0x' },
  highestTier: 2,
}
const node: Node = {
  ...attestedNode(nodeA, certificate, sampleReading),
  heartbeatAt: now - 150_000,
  polledAt: now - 60_000,
  modelIds: ['openai:m'],
  capacity: 2,
}
const chain: ChainNode = { registered: true, active: true, unbonding: false, modelTiers: [0, 2] }
const demand = { modelId: 'openai:m', minTier: 2, comparator: 'exact' } as const

const reasons = (
  changes: Partial<Node> = {},
  asked: Parameters<typeof ineligibleReasons>[2] = demand,
  onChain: ChainNode | undefined = chain,
) => ineligibleReasons({ ...node, ...changes }, onChain, asked, now, [])
const withCertificate = (changes: Partial<Certificate>) =>
  reasons({ certificate: { ...certificate, ...changes } })

describe('a node', () => {
  it('that has attested and said nothing else has everything still before it', () => {
    expect(attestedNode(nodeA, certificate, sampleReading)).toEqual({
      address: nodeA,
      certificate,
      reading: sampleReading,
      runs: noFormerRuns,
      modelIds: [],
      capacity: 0,
      leaving: false,
      standing: newcomer,
    })
  })

  it('can be drawn up to the last moment of its heartbeat and its poll', () => {
    expect(reasons()).toEqual([])
    expect(reasons({ heartbeatAt: now - 150_001 })).toEqual(['no-heartbeat'])
    expect(reasons({ polledAt: now - 60_001 })).toEqual(['no-recent-poll'])
    const { heartbeatAt: _, polledAt: __, ...silent } = node
    expect(ineligibleReasons(silent, chain, demand, now, [])).toEqual([
      'no-heartbeat',
      'no-recent-poll',
    ])
  })

  it('needs a certificate, and a session that outlives a job of now', () => {
    expect(withCertificate({ expiresAt: now })).toEqual(['certificate-expired'])
    expect(withCertificate({ expiresAt: now + 1 })).toEqual([])
    const until = (notAfter: number) =>
      withCertificate({ session: { ...certificate.session, not_after: notAfter } })
    expect(until(now / 1000 + 1_200)).toEqual([])
    expect(until(now / 1000 + 1_199)).toEqual(['certificate-expired'])
    expect(reasons({ certificate: ended(certificate) })).toEqual(['certificate-expired'])
    expect(ended(certificate)).toEqual({ ...certificate, expiresAt: certificate.issuedAt })
  })

  it('has to be registered and active, and not about to leave', () => {
    const onChain = (changes: Partial<ChainNode>) => reasons({}, demand, { ...chain, ...changes })
    expect(ineligibleReasons(node, undefined, demand, now, [])).toEqual(['chain-unavailable'])
    expect(onChain({ registered: false, active: false })).toEqual(['not-registered'])
    expect(onChain({ active: false })).toEqual(['chain-inactive'])
    expect(onChain({ active: false, unbonding: true })).toEqual(['stake-unbonding'])
    expect(reasons({ leaving: true })).toEqual(['leaving'])
  })

  it('serves what it says it serves', () => {
    expect(reasons({}, { ...demand, modelId: 'openai:other' })).toEqual(['no-model'])
    expect(reasons({}, { ...demand, modelId: undefined })).toEqual([])
    expect(reasons({ modelIds: [] }, { ...demand, modelId: undefined })).toEqual(['no-model'])
    const by = (comparator: 'exact' | 'similar/2') => reasons({}, { ...demand, comparator })
    expect([by('exact'), by('similar/2')]).toEqual([[], []])
    expect(reasons({ comparators: ['similar/2'] })).toEqual(['no-comparator'])
    const anyComparator = { ...demand, comparator: undefined }
    expect(reasons({ comparators: ['similar/2'] }, anyComparator)).toEqual([])
    expect(reasons({ comparators: ['newer/9'] }, anyComparator)).toEqual(['no-comparator'])
  })

  it('has the tiers that are both registered and allowed by its attestation', () => {
    const tiers = (highestTier: number | undefined) => {
      const { highestTier: _, ...rest } = certificate
      const allowed = highestTier === undefined ? rest : { ...rest, highestTier }
      return servedTiers({ ...node, certificate: allowed }, chain)
    }
    expect([tiers(undefined), tiers(0), tiers(1), tiers(2)]).toEqual([[0], [0], [0], [0, 2]])
    expect(withCertificate({ highestTier: 1 })).toEqual(['no-tier'])
    expect(reasons({}, { ...demand, minTier: 3 })).toEqual(['no-tier'])
    expect(reasons({}, { ...demand, minTier: 1 })).toEqual([])
    expect(ineligibleReasons(node, { ...chain, modelTiers: [] }, demand, now, [])).toEqual([
      'no-tier',
    ])
  })
})

it('a TPM counts back when its starts, its resumes or, between them, its clock are less than they were', () => {
  const at = (reset: number, restart: number, clock: string) => ({ reset, restart, clock })

  const before = at(5, 3, '900')
  const less = [at(4, 3, '900'), at(4, 9, '999'), at(5, 2, '999'), at(5, 3, '899')]
  for (const after of less) expect(isCountingBack(before, after)).toBe(true)
  const more = [at(5, 3, '900'), at(5, 3, '1000'), at(5, 4, '0'), at(6, 0, '0')]
  for (const after of more) expect(isCountingBack(before, after)).toBe(false)
})
