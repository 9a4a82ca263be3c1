import type { Cause } from './cause.ts'

/** Causes for which a node cannot do its part, apart from its provider's. */
export const nodeCauses = {
  'model-not-offered': {
    who: 'node operator',
    what: 'the node does not serve the model {model} any more',
    remedy:
      'set {key} and keep supported_model_ids as it was reported to the ICL, or restart the node',
  },
  'key-handles-missing': {
    who: 'service operator',
    what: 'the ICL gave the node no handles of the prompt key',
    remedy: 'see in the log of the ICL why the claim failed or came without handles',
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
    what: 'the model {model} cannot take a part of the prompt, or called a tool',
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
    remedy: 'run `svc-node self-check`. If it fails, download the executable again',
  },
  'chain-rate-limited': {
    who: 'node operator',
    what: "the rate limit of the node's chain RPC or coprocessor is used up",
    remedy: 'use an RPC endpoint with a higher rate limit (SVC_COFHE_ENDPOINT)',
    passes: true,
  },
  'node-chain-unavailable': {
    who: 'node operator',
    what: "the node's chain RPC does not respond, or fails",
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
    remedy: 'check the address of PromptKeyStore: the log names the error of the contract',
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
    what: 'the node could not continue the job after a restart',
    remedy: 'see in its log and in the log of the machine why it ended: memory may be short',
  },
  'answer-lost': {
    who: 'nobody',
    what: 'a restart of the node lost the text of its answer, which is kept in memory only',
    remedy: 'another node that agrees delivers',
  },
  'node-failed': {
    who: 'node operator',
    what: 'the node failed unexpectedly',
    remedy: 'see the log of the node, and report it to its developers',
  },
  'offer-lapsed': {
    who: 'node operator',
    what: 'the node did not take the offer in time',
    remedy:
      'see why the node did not poll: its network, its load, its log, or an ICL that it cannot reach',
    passes: true,
  },
  'lease-lapsed': {
    who: 'node operator',
    what: 'the node claimed the work and then stopped responding',
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
    remedy: 'see in the log of the node what delayed it: the chain RPC or the upload may be slow',
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
} as const satisfies Readonly<Record<string, Cause>>
