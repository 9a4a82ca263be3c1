import type { StoredKey } from '../lib/chain/prompt-key-store.ts'
import type { Address, JobId } from '../lib/codecs.ts'
import type { PermitNews } from '../lib/coprocessor/cofhe-options.ts'
import type { Role, Verdict } from '../lib/schemas/jobs.ts'
import type { TeacherScore } from '../lib/schemas/teacher.ts'
import { usageText } from './inference/usage.ts'
import type { JobRecord } from './journal/history.ts'

type EndedJob = Omit<JobRecord, 'ended_at' | 'usage'> & {
  readonly ended_at: number
  readonly usage: JobRecord['usage'] | undefined
}

/** The messages that operators and their tools look for, with the fragments of spec 6. */
export const messages = {
  daemonStarting: (banner: {
    readonly address: Address
    readonly tiers: readonly number[] | undefined
    readonly modelIds: readonly string[]
    readonly certificateSeconds: number
    readonly version: string
  }) =>
    `Daemon starting: version ${banner.version}, address ${banner.address}, tier ${tiersText(banner.tiers)}, ` +
    `models ${banner.modelIds.join(', ') || 'none'}, certificate valid for ${banner.certificateSeconds} s`,
  daemonStopping: (jobs: number) =>
    `Daemon stopping: no new assignments, waiting for ${jobs} running job(s)`,
  daemonStopped: () => 'Daemon stopped',
  daemonFailed: (why: string) => `Daemon ended: ${why}`,
  jobsAbandoned: (jobs: number) => `Abandoning ${jobs} running job(s)`,

  attested: (backend: string, seconds: number) =>
    `Attested with the ICL (${backend}), certificate valid for ${seconds} s`,
  attestationNeeded: (why: string) => `Attesting with the ICL: ${why}`,
  attestationFailed: (why: string, nextMs: number) =>
    `Attestation failed, taking no work, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,
  renewalFailed: (why: string, seconds: number) =>
    `Attestation renewal failed, certificate valid for ${seconds} s more: ${why}`,
  recordNotKept: (why: string) =>
    `The new attestation could not be recorded. This daemon continues with it: ${why}`,

  heartbeatSent: () => 'Heartbeat sent to ICL',
  heartbeatFailed: (why: string) => `Heartbeat failed: ${why}`,
  eligible: () => 'The ICL considers this node for jobs',
  notEligible: (remedy: string) => `The ICL does not consider this node for jobs: ${remedy}`,
  unfunded: (balance: string, address: Address) =>
    `The wallet has ${balance}, too little to pay for heartbeats and answers: send gas money to ${address}`,
  chainHeartbeatSent: (txHash: string) => `On-chain heartbeat sent: ${txHash}`,
  chainHeartbeatFailed: (why: string) => `On-chain heartbeat failed: ${why}`,
  notRegistered: () =>
    'On-chain heartbeat skipped: this node is not registered. Run `svc-node register`',

  noAssignments: () => 'No assignments for last 60s',
  receivedAssignments: (count: number) => `Received ${count} assignment(s)`,
  pollFailed: (why: string) => `Polling for assignments failed: ${why}`,
  spawning: (role: Role, jobId: JobId) => `Spawning ${role} job ${jobId}`,

  journalTorn: () =>
    'Job journal: the last line was cut off when the daemon was killed. It had no effect',
  diskUnwritable: (why: string) => `Taking no work: ${why}`,
  diskWritable: () => 'The disk takes files again: taking work',
  jobResuming: (jobId: JobId, role: Role) => `Job ${jobId}: resuming as ${role} after a restart`,
  resumeDelayed: (jobId: JobId, why: string) =>
    `Job ${jobId}: waiting to resume until the ICL responds: ${why}`,
  notRecorded: (jobId: JobId, why: string) => `Job ${jobId}: could not be recorded: ${why}`,

  jobStarting: (jobId: JobId, role: Role) => `Job ${jobId}: starting as ${role}`,
  claimed: (jobId: JobId) => `Job ${jobId}: claimed`,
  claimFailed: (jobId: JobId, why: string) => `Job ${jobId}: claim failed: ${why}`,
  decryptRetried: (jobId: JobId, why: string) => `Job ${jobId}: ${why}; trying again`,
  proofProcessDied: (why: string) => `${why}; starting it again`,
  permitNotMade: (why: string) => `No permit for decryptions yet, the first one makes it: ${why}`,
  permitMade: ({ issuer, expiration }: PermitNews) =>
    `Permit for decryptions made: issuer ${issuer.toLowerCase()}, expires at ${expiration}`,
  decrypting: (jobId: JobId, handle: bigint) =>
    `Job ${jobId}: decrypting handle ${handleText(handle)} with the permit`,
  decrypted: (jobId: JobId, handle: bigint, ms: number) =>
    `Job ${jobId}: decrypted handle ${handleText(handle)} in ${Math.round(ms)} ms: [secret, 16 bytes]`,
  outputKeyNotMade: (why: string) =>
    `No output key is in stock, the next deliverer makes it: ${why}`,
  keyStored: (jobId: JobId, { highHandle, lowHandle, txHash, gasUsed }: Omit<StoredKey, 'block'>) =>
    `Job ${jobId}: storeKey: transaction ${txHash}, gas used ${gasUsed}, handles ${handleText(highHandle)}, ${handleText(lowHandle)}`,
  promptKeyDecrypted: (jobId: JobId) => `Job ${jobId}: Decrypted prompt key`,
  promptDownloaded: (jobId: JobId, bytes: number) =>
    `Job ${jobId}: Downloaded prompt blob (${bytes} bytes)`,
  running: (jobId: JobId, modelId: string) =>
    `Job ${jobId}: Running inference on the decrypted prompt via ${modelId}`,
  providerRetried: (jobId: JobId, why: string, waitMs: number) =>
    `Job ${jobId}: ${why}; trying again in ${Math.ceil(waitMs / 1000)} s`,
  inferenceComplete: (jobId: JobId, seconds: number) =>
    `Job ${jobId}: Inference complete in ${seconds.toFixed(1)} s`,
  inferenceSlow: (jobId: JobId, seconds: number) =>
    `Job ${jobId}: slow inference, ${seconds.toFixed(1)} s. Prompts above about 4k tokens are slower`,
  outputUploaded: (jobId: JobId, cid: string) => `Job ${jobId}: uploaded encrypted output ${cid}`,
  resultAccepted: (jobId: JobId) => `Job ${jobId}: Leader result accepted`,
  committed: (jobId: JobId) => `Job ${jobId}: committed, waiting for the other nodes`,
  revealed: (jobId: JobId) => `Job ${jobId}: revealed what its answer looks like`,
  notAcknowledged: (jobId: JobId, step: string, why: string) =>
    `Job ${jobId}: the ICL did not acknowledge the ${step}, trying again: ${why}`,
  ackNotFetched: (jobId: JobId, step: string, why: string) =>
    `Job ${jobId}: the acknowledgement of the ${step} is missing: ${why}`,
  stepFailed: (jobId: JobId, step: string, why: string) =>
    `Job ${jobId}: ${step}: ${why}; asking for the next step`,
  over: (jobId: JobId, why: string) => `Job ${jobId}: over: ${why}`,
  outputNotRead: (jobId: JobId, why: string) =>
    `Job ${jobId}: the delivered output could not be read: ${why}`,
  scored: (jobId: JobId, { n, agree, gap, far }: TeacherScore) =>
    `Job ${jobId}: Delivered text under the model: ${n} tokens, ${agree} the likeliest, gap ${gap}, ${far} far`,
  notScored: (jobId: JobId, why: string) =>
    `Job ${jobId}: The delivered text is not scored: ${why}`,
  verdict: (jobId: JobId, verdict: Verdict, reason: string | undefined) =>
    `Job ${jobId}: Verdict: ${verdict}${reason === undefined ? '' : ` (${reason})`}`,
  ended: ({ jobId, role, model_id, outcome, reason, started_at, ended_at, usage }: EndedJob) =>
    `Job ${jobId}: ended as ${role} of ${model_id}: ${outcome}${reason === undefined ? '' : ` (${reason})`} after ${ended_at - started_at} s` +
    (usage ? `, ${usageText(usage, undefined)}` : ''),
  stopped: (jobId: JobId, why: string) => `Job ${jobId}: stopped: ${why}`,
  aborted: (jobId: JobId, why: string) => `Job ${jobId}: aborted: ${why}`,
  abortNotSent: (jobId: JobId, why: string) =>
    `Job ${jobId}: the abort could not be reported to the ICL: ${why}`,

  networkUnknown: (why: string, nextMs: number) =>
    `Waiting for the ICL, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,

  chainUnknown: (why: string, nextMs: number) =>
    `Waiting for the chain RPC, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,

  memoryHigh: (bytes: number) =>
    `Memory use is ${(bytes / 2 ** 30).toFixed(1)} GB, above the warning level of 2 GB`,
  providerAway: (name: string, why: string, nextMs: number) =>
    `Models of ${name} are not offered yet, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`,
  providerReached: (name: string, modelIds: readonly string[]) =>
    `The provider ${name} responds now: offering ${modelIds.join(', ')}`,
  providerWrong: (name: string, why: string) => `Models of ${name} are not offered: ${why}`,
  modelNotOffered: (modelId: string, variable: string) =>
    `Model ${modelId} is not offered: ${variable} is not set`,
} as const

const handleText = (handle: bigint): string => `0x${handle.toString(16).padStart(64, '0')}`

const tiersText = (tiers: readonly number[] | undefined): string => {
  if (tiers === undefined) return 'unknown'
  return tiers.length === 0 ? 'none' : tiers.join(', ')
}
