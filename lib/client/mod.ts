/**
 * The client of a confidential inference service. It encrypts prompts, has a quorum of nodes answer them, and accepts an answer only after
 * it has checked everything about it. It runs in browsers, Bun, Deno and Node.
 *
 * @module
 */

export { checkAck, verifyAck } from '../ack.ts'
export type { EncryptedInput } from '../chain/encrypted-input.ts'
export {
  isWalletAccount,
  type WalletAccount,
  type WalletProvider,
  walletAccount,
} from '../chain/wallet-account.ts'
export type { Address, ComparatorId, Hash32, JobId } from '../codecs.ts'
export { createCofheCoprocessor } from '../coprocessor/cofhe.ts'
export type { CofheCoprocessor, CofheOptions } from '../coprocessor/cofhe-options.ts'
export type {
  Coprocessor,
  EncryptedHalves,
  EncryptNews,
} from '../coprocessor/coprocessor.ts'
export type { ProofInput, Prover } from '../coprocessor/prover.ts'
export { type JobIdentity, jobIdOf } from '../job-id.ts'
export { needsOf } from '../prompt-needs.ts'
export { receiptHash, verifyReceipt } from '../receipt.ts'
export type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
export type { JobEvent, JobPhase, JobView } from '../schemas/jobs.ts'
export type { Network } from '../schemas/network.ts'
export type { PromptDocument, PromptMessage } from '../schemas/prompt.ts'
export type { PromptNeeds, PromptPart } from '../schemas/prompt-needs.ts'
export { Receipt } from '../schemas/receipt.ts'
export { Ack } from '../schemas/statements.ts'
export type { AgreementRule } from '../schemas/terms.ts'
export { SvcError } from '../svc-error.ts'
export { type Agreed, agreedIn, type Difference, describeAgreed, usageIn } from './agreed.ts'
export { checkCommitment } from './check-commitment.ts'
export { type ExpectedJob, expectedJob, fetchCheckedReceipt } from './check-receipt.ts'
export {
  type ChosenTerms,
  chooseTerms,
  type QuorumWish,
  type TermsOptions,
} from './choose-terms.ts'
export {
  type Client,
  type ClientOptions,
  createClient,
  type JobPage,
  type Models,
} from './client.ts'
export type { StoredPromptKey } from './client-chain.ts'
export { toClientError } from './client-error.ts'
export { describeLeftOut, type PoolComparison } from './compare-pool.ts'
export type { ClientContext } from './context.ts'
export { type Follow, followJob } from './follow-job.ts'
export type { InferOptions } from './infer.ts'
export {
  type AcceptedInference,
  type FailedInference,
  GoesOnError,
  type Inference,
  inferenceError,
  type NodeVerdict,
  type ProofTimings,
  UncollectedError,
  UncommittedError,
  type UncommittedInference,
} from './inference.ts'
export type { OpenOptions } from './open-job.ts'
export { askForList, type JobList } from './own-list.ts'
export type { OwnSecret, SecretMemory } from './own-secret.ts'
export { encryptKey, endList, type KeyHandles, storePromptKey } from './prompt-key.ts'
export {
  checkPrompt,
  maxPromptBytes,
  newPromptKey,
  type SealedPrompt,
  sealPrompt,
} from './prompt-text.ts'
export { checkOutput, decryptOutput } from './read-output.ts'
export {
  type InferenceStep,
  inferenceSteps,
  type StepNews,
  stepLabels,
  type Timings,
} from './steps.ts'
export {
  commitList,
  type JobOrder,
  type JobWish,
  nameJob,
  submitJob,
  uploadBlob,
} from './submit-job.ts'
export type { QueuePlace } from './turns.ts'
export { type EventWatcher, watchEvents } from './watch-events.ts'
