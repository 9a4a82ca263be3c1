import type { StoredKey } from '../lib/chain/prompt-key-store.ts'
import type { Address, JobId } from '../lib/codecs.ts'
import type { PermitNews } from '../lib/coprocessor/cofhe-options.ts'
import { modelNameOf } from '../lib/providers.ts'
import type { TeacherScore } from '../lib/schemas/teacher.ts'

/** The messages that several places log, or that are made of many parts. Each other message stands where it is logged. */
export const messages = {
  daemonStarting: (banner: {
    readonly address: Address
    readonly tiers: readonly number[] | undefined
    readonly modelIds: readonly string[]
    readonly certificateSeconds: number
    readonly version: string
  }) =>
    `Daemon starting: version ${banner.version}, address ${banner.address}, tier ${tiersText(banner.tiers)}, ` +
    `models ${modelsText(banner.modelIds)}, certificate valid for ${banner.certificateSeconds} s`,
  attested: (backend: string, seconds: number) =>
    `Attested with the ICL (${backend}), certificate valid for ${seconds} s`,
  attestationNeeded: (why: string) => `Attesting with the ICL: ${why}`,
  certificateLost: (why: string) => `Attestation failed: taking no work until it succeeds: ${why}`,
  attestationFailed: (why: string, nextMs: number) =>
    `Attestation failed, taking no work, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,
  renewalFailed: (why: string, seconds: number) =>
    `Attestation renewal failed, certificate valid for ${seconds} s more: ${why}`,
  recordNotKept: (why: string) =>
    `The new attestation could not be recorded. This daemon continues with it: ${why}`,

  heartbeatFailed: (why: string) => `Heartbeat failed: ${why}`,
  notRecorded: (jobId: JobId, why: string) => `Job ${jobId}: could not be recorded: ${why}`,

  claimFailed: (jobId: JobId, why: string) => `Job ${jobId}: claim failed: ${why}`,
  permitMade: ({ issuer, expiration }: PermitNews) =>
    `Permit for decryptions made: issuer ${issuer.toLowerCase()}, expires at ${expiration}`,
  decrypting: (jobId: JobId, handle: bigint) =>
    `Job ${jobId}: decrypting handle ${handleText(handle)} with the permit`,
  decrypted: (jobId: JobId, handle: bigint, ms: number) =>
    `Job ${jobId}: decrypted handle ${handleText(handle)} in ${Math.round(ms)} ms: [secret, 16 bytes]`,
  keyStored: (jobId: JobId, { highHandle, lowHandle, txHash, gasUsed }: Omit<StoredKey, 'block'>) =>
    `Job ${jobId}: storeKey: transaction ${txHash}, gas used ${gasUsed}, handles ${handleText(highHandle)}, ${handleText(lowHandle)}`,
  stepFailed: (jobId: JobId, step: string, why: string) =>
    `Job ${jobId}: ${step}: ${why}; asking for the next step`,
  scored: (jobId: JobId, { n, agree, gap, far }: TeacherScore) =>
    `Job ${jobId}: Another node's answer under the model: ${n} tokens, ${agree} the likeliest, gap ${gap}, ${far} far`,
} as const

const handleText = (handle: bigint): string => `0x${handle.toString(16).padStart(64, '0')}`

/** Each model by its id and its bare name (spec 2.4). */
const modelsText = (modelIds: readonly string[]): string =>
  modelIds.map((id) => `${id} (${modelNameOf(id)})`).join(', ') || 'none'

const tiersText = (tiers: readonly number[] | undefined): string => {
  if (tiers === undefined) return 'unknown'
  return tiers.length === 0 ? 'none' : tiers.join(', ')
}
