import type { AssignmentReason, DeliveryReason, JobReason, VerdictReason } from './schemas/jobs.ts'

/*
 * Why a job, a node or a call fails. A node gives an assignment back with one of these codes, the ICL keeps it in the job's history, and
 * the node's log, the client and the console explain it from this table, so that all three name the same cause and the same one to act.
 * A new cause is a new row: the wire's enums and the type of the table keep the two in step, and no two rows read alike (a test).
 */

/** Who has to act on a cause; `nobody` when it passes or another node takes over. */
export type Actor = 'client' | 'node operator' | 'service operator' | 'provider' | 'nobody'

/** What readers are told of one cause; `{key}` and `{model}` stand for the job's own. */
export type Cause = {
  readonly who: Actor
  /** What happened, as a clause. */
  readonly what: string
  /** What the actor has to do, as an imperative clause. */
  readonly remedy: string
  /** The same node may do the assignment later. */
  readonly passes?: true
  /** It comes from the job itself: other nodes fail alike. */
  readonly sameAnywhere?: true
}

/** A cause that ends no assignment: of a call to the ICL or to the chain. */
type CallCause =
  | 'chain-unavailable'
  | 'icl-unreachable'
  | 'icl-unexpected-answer'
  | 'chain-too-many-requests'
  | 'chain-rpc-failed'
  | 'chain-wallet-empty'
  | 'chain-fees-too-low'
  | 'chain-reverted'
  | 'chain-contract-wrong'
  | 'chain-no-blocks'
  | 'commit-missing'

/** The code of a cause, on the wire and in errors. */
export type CauseCode =
  | AssignmentReason
  | DeliveryReason
  | VerdictReason
  | Exclude<JobReason, 'quorum-agreed'>
  | CallCause

/** Every cause, by code. */
export const causes: Readonly<Record<CauseCode, Cause>> = {
  'provider-key-refused': {
    who: 'node operator',
    what: "the provider refused the node's API key",
    remedy: 'set {key} to a key that the provider accepts',
  },
  'provider-model-unknown': {
    who: 'node operator',
    what: 'the provider does not know the model {model}',
    remedy: 'correct the name in supported_model_ids, or take the model out',
  },
  'provider-rate-limited': {
    who: 'node operator',
    what: "the provider's rate limit for the node is used up",
    remedy: 'ask the provider for a higher rate limit, or lower max_concurrent_jobs',
    passes: true,
  },
  'provider-quota-used-up': {
    who: 'node operator',
    what: "the node's account at the provider has no credit left",
    remedy: 'add credit to the account of {key}',
  },
  'provider-refused': {
    who: 'client',
    what: 'the provider refused the request',
    remedy: 'check the prompt and the parameters; the prompt may be too long for {model}',
    sameAnywhere: true,
  },
  'provider-unreachable': {
    who: 'node operator',
    what: 'the node cannot connect to the provider',
    remedy: "check the node's network and the base URL of the provider",
    passes: true,
  },
  'provider-unavailable': {
    who: 'provider',
    what: 'the provider answers that it fails now',
    remedy: 'it has to recover, as its status page may say; try again later',
    passes: true,
  },
  'provider-silent': {
    who: 'provider',
    what: 'the provider gave no whole answer in the time allowed',
    remedy: 'it has to answer faster; fewer output tokens help',
    passes: true,
  },
  'provider-protocol-wrong': {
    who: 'node operator',
    what: "the provider's answer is not of its protocol",
    remedy: 'check the base URL: a login page, a proxy or another service may answer there',
    passes: true,
  },
  'provider-answer-empty': {
    who: 'client',
    what: 'the model gave an empty answer',
    remedy:
      'change the prompt, or allow more output tokens: the model may have spent them on thinking',
    sameAnywhere: true,
  },
  'provider-answer-too-large': {
    who: 'provider',
    what: "the provider's answer is larger than any output may be",
    remedy:
      'it has to keep to the limit of output tokens; see that the base URL leads to the provider',
    sameAnywhere: true,
  },
  'model-not-offered': {
    who: 'node operator',
    what: 'the node does not serve the model {model} any more',
    remedy: 'set {key} and keep supported_model_ids as the ICL was told, or restart the node',
  },
  'key-handles-missing': {
    who: 'service operator',
    what: 'the ICL gave the node no handles of the prompt key',
    remedy: 'see in the log of the ICL why the claim failed or was answered without handles',
  },
  'prompt-unavailable': {
    who: 'node operator',
    what: 'the node could not download the encrypted prompt',
    remedy: 'check that the gateways (SVC_IPFS_GATEWAY) and the ICL can be reached',
    passes: true,
  },
  'prompt-unreadable': {
    who: 'client',
    what: 'the encrypted prompt does not open with the stored key, or holds no prompt document',
    remedy:
      'store the key that the prompt was sealed with, seal a document of version 1, and submit again',
    sameAnywhere: true,
  },
  'prompt-not-supported': {
    who: 'client',
    what: 'the model {model} cannot take a part of the prompt, or answered with a call of a tool',
    remedy:
      'leave out what it cannot take (such as seed, stop, response_format, tools), or choose another model',
    sameAnywhere: true,
  },
  'fhe-decrypt-denied': {
    who: 'client',
    what: 'the coprocessor denies the nodes the prompt key',
    remedy: 'run the job again with another prompt key',
    passes: true,
  },
  'coprocessor-unavailable': {
    who: 'node operator',
    what: 'the node gets no answer from the coprocessor',
    remedy: 'check the network, SVC_COFHE_URLS and the status of the coprocessor',
    passes: true,
  },
  'encryption-failed': {
    who: 'node operator',
    what: 'the node could not encrypt the output key',
    remedy: 'run `svc-node self-check`; if it fails, download the executable again',
  },
  'chain-rate-limited': {
    who: 'node operator',
    what: "the rate limit of the node's chain RPC or coprocessor is used up",
    remedy: 'use an RPC endpoint with a higher rate limit (SVC_COFHE_ENDPOINT)',
    passes: true,
  },
  'node-chain-unavailable': {
    who: 'node operator',
    what: "the node's chain RPC does not answer, or fails",
    remedy: 'check the network of the node and SVC_COFHE_ENDPOINT',
    passes: true,
  },
  'wallet-empty': {
    who: 'node operator',
    what: "the node's wallet cannot pay for gas",
    remedy: 'send gas money to the wallet of the node',
  },
  'store-key-reverted': {
    who: 'node operator',
    what: 'PromptKeyStore refused to store the output key',
    remedy: 'check the address of PromptKeyStore; the log names the error of the contract',
  },
  'list-untrusted': {
    who: 'service operator',
    what: 'the list that the ICL gave the node is not the one that the client committed to on chain',
    remedy: 'see whether the ICL and the node read the same chain and PromptKeyStore',
    passes: true,
  },
  'output-upload-failed': {
    who: 'service operator',
    what: 'the encrypted output could not be uploaded',
    remedy: 'see why the ICL takes no blobs: its /readyz and its log say',
    passes: true,
  },
  'deadline-too-close': {
    who: 'node operator',
    what: "the node's time for the work was over before the work was done",
    remedy: 'serve a faster model, or lower max_concurrent_jobs',
  },
  'journal-unwritable': {
    who: 'node operator',
    what: 'the node cannot write its job journal',
    remedy: 'check the disk, and the owner of the folder of the configuration',
  },
  'node-stopping': {
    who: 'nobody',
    what: 'the node was stopped by its operator',
    remedy: 'another node takes over',
    passes: true,
  },
  'signed-before': {
    who: 'service operator',
    what: 'the node has signed an answer to this very assignment before',
    remedy: 'see whether the ICL has lost jobs, and restore them',
  },
  'node-crashed': {
    who: 'node operator',
    what: 'the node could not go on with the job after a restart',
    remedy: 'see in its log and in the log of the machine why it ended; memory may be short',
  },
  'node-failed': {
    who: 'node operator',
    what: 'the node failed in a way that nobody foresaw',
    remedy: 'see the log of the node, and report it to its developers',
  },
  'offer-lapsed': {
    who: 'node operator',
    what: 'the node did not take the offer in time',
    remedy: 'see why the node did not poll: its network, its load, its log',
    passes: true,
  },
  'lease-lapsed': {
    who: 'node operator',
    what: 'the node took the work and was not heard of again',
    remedy: 'see whether the node crashed, hangs or lost its network',
  },
  'never-revealed': {
    who: 'node operator',
    what: 'the node committed to an answer and did not reveal it in time',
    remedy: 'see in the log of the node why it revealed nothing: its network, a restart',
  },
  'never-delivered': {
    who: 'node operator',
    what: 'it was the turn of the node to deliver its answer, and it did not',
    remedy: 'see in the log of the node what held it up; the chain RPC or the upload may be slow',
  },
  'output-refused': {
    who: 'node operator',
    what: 'the other nodes found that the delivered output is not the one of its evidence',
    remedy: 'see whether the delivering node runs changed software',
  },
  'never-checked': {
    who: 'node operator',
    what: 'none of the other nodes could check the delivered output in time',
    remedy: 'see in the logs of these nodes why: their gateways or the coprocessor may be slow',
  },
  'list-ended': {
    who: 'client',
    what: 'a seat fell empty, and the commitment of the client on chain gives no other node of the list access',
    remedy:
      'run the job again with another prompt key; commit to the very list that is submitted, and leave it open until the job has settled',
  },
  'grant-refused': {
    who: 'node operator',
    what: 'the chain gives the node no access to the prompt key, because it is not active there',
    remedy: 'see in `svc-node status` what its stake or registration lacks',
  },
  'node-busy': {
    who: 'nobody',
    what: 'the node had no free slot',
    remedy: 'another node takes over, or this one when it has a slot',
    passes: true,
  },
  'node-left': {
    who: 'nobody',
    what: 'the node left the pool before it was offered the work',
    remedy: 'the next node of the list takes over',
    passes: true,
  },
  'different-answer': {
    who: 'client',
    what: "the node's answer differs from the delivered one",
    remedy: 'use a model that answers the same each time, or another comparator',
  },
  inconclusive: {
    who: 'client',
    what: 'the two answers are neither alike nor different enough to tell',
    remedy: 'use a comparator that fits the kind of answer',
  },
  'output-mismatch': {
    who: 'node operator',
    what: 'the delivered output does not make the evidence of its node',
    remedy: 'see whether the node that delivered runs changed software',
  },
  'output-unavailable': {
    who: 'node operator',
    what: 'the node could not get or open the delivered output',
    remedy: 'see whether the blob was uploaded and the gateways have it',
  },
  'awaiting-grant': {
    who: 'client',
    what: 'the job waits until its nodes may read the prompt key',
    remedy: 'commit to the list on chain (`commitList`) when the job is submitted',
  },
  'not-enough-nodes': {
    who: 'service operator',
    what: 'too few nodes are free that could do the job',
    remedy: 'wait until more nodes are active, or start more',
  },
  'attempts-exhausted': {
    who: 'nobody',
    what: 'every node that was tried failed at the job',
    remedy: "see the causes of the job's seats, and run it again",
  },
  'deadline-passed': {
    who: 'nobody',
    what: 'the job was not done before its deadline',
    remedy: 'run it again; when it happens often, the nodes are overloaded',
  },
  'quorum-disagreed': {
    who: 'client',
    what: 'the nodes did not agree on an answer',
    remedy:
      'run it again, use a model that answers the same each time, or accept two answers that match (--rule any-two)',
  },
  undelivered: {
    who: 'nobody',
    what: 'the nodes agreed on an answer, but none of them delivered it',
    remedy: 'run the job again; the job shows why each node failed to deliver',
  },
  'cancelled-by-client': {
    who: 'client',
    what: 'the job was cancelled by its client',
    remedy: 'submit it again if you still want the answer',
  },
  'icl-unreachable': {
    who: 'client',
    what: 'the ICL cannot be reached or does not answer in time',
    remedy: 'check the network and the ICL address (SVC_ICL_ENDPOINT)',
    passes: true,
  },
  'icl-unexpected-answer': {
    who: 'client',
    what: "what answers at the ICL's address is no ICL of this version",
    remedy: 'check that the ICL address is right and that its version fits this one',
  },
  'chain-unavailable': {
    who: 'service operator',
    what: 'the chain RPC does not answer',
    remedy: 'check the chain RPC, its URL and its network',
    passes: true,
  },
  'chain-too-many-requests': {
    who: 'service operator',
    what: 'the chain RPC has too many requests',
    remedy: 'wait, or use an RPC endpoint with a higher limit',
    passes: true,
  },
  'chain-rpc-failed': {
    who: 'service operator',
    what: 'the chain RPC fails inside',
    remedy: 'wait, or use another RPC endpoint; nothing is wrong with the contract',
    passes: true,
  },
  'chain-wallet-empty': {
    who: 'service operator',
    what: 'the account that sends the transaction cannot pay for its gas',
    remedy: 'send gas money to the account that the message names',
    passes: true,
  },
  'chain-fees-too-low': {
    who: 'nobody',
    what: 'the gas price rose above the fees of the transaction',
    remedy: 'it is sent again with the fees that the chain asks then; try again',
    passes: true,
  },
  'chain-reverted': {
    who: 'service operator',
    what: 'the contract reverted',
    remedy:
      'check the address of the contract, and the role of the coordinator there; what is not on chain is sent again',
    passes: true,
  },
  'chain-contract-wrong': {
    who: 'service operator',
    what: 'the configured contract is not at its address',
    remedy:
      'correct the address in the settings, or deploy the contract there; results wait until then',
    passes: true,
  },
  'chain-no-blocks': {
    who: 'service operator',
    what: 'no block takes the transactions of the coordinator',
    remedy: 'see whether the chain makes blocks, and what gas costs there; they stay sent',
    passes: true,
  },
  'commit-missing': {
    who: 'service operator',
    what: 'the result is not on chain yet',
    remedy: "see the reasons in the ICL's /readyz; the commit is tried again until it stands",
  },
}

const labels: Readonly<Record<Actor, string>> = {
  client: 'Client',
  'node operator': 'Node operator',
  'service operator': 'Service operator',
  provider: 'Provider',
  nobody: 'Nobody has to act',
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

// Only the node itself knows the environment variable of its key.
const filled = (text: string, model: string | undefined, keyVariable?: string): string => {
  const provider = model?.slice(0, model.indexOf(':')) ?? 'the provider'
  return text
    .replace('{key}', keyVariable ?? `the API key of ${provider}`)
    .replace(' {model}', model === undefined ? '' : ` ${model}`)
}

/** True for a code of the table. */
export const isCause = (code: string): code is CauseCode => Object.hasOwn(causes, code)

/** What happened, as a clause. */
export const whatOf = (code: CauseCode, model?: string): string => filled(causes[code].what, model)

/** What to do, for a reader: one that is not the actor, or not known, is told who is. */
export function remedyFor(
  reader: Actor | undefined,
  code: CauseCode,
  model?: string,
  keyVariable?: string,
): string {
  const { who, remedy } = causes[code]
  const text = filled(remedy, model, keyVariable)
  return who === reader ? `${sentence(text)}.` : `${labels[who]}: ${text}.`
}

/** A cause in one line: what happened and who has to do what. */
export const causeLine = (reader: Actor | undefined, code: CauseCode, model?: string): string =>
  `${sentence(whatOf(code, model))}. ${remedyFor(reader, code, model)}`
