import {
  type Cause,
  client,
  nobody,
  nodeOperator,
  passes,
  sameAnywhere,
  serviceOperator,
} from './cause.ts'

/** Causes for which a node cannot do its part, apart from its provider's. */
export const nodeCauses = {
  'model-not-offered': nodeOperator(
    'the node does not serve the model {model} any more',
    'put the model back into supported_model_ids, and restart the node',
  ),
  'key-handles-missing': serviceOperator(
    'the ICL gave the node no handles of the prompt key',
    'see in the log of the ICL why the claim failed or came without handles',
  ),
  'prompt-unavailable': nodeOperator(
    'the node could not download the encrypted prompt',
    'check that the gateways (SVC_IPFS_GATEWAY) and the ICL can be reached',
    passes,
  ),
  'prompt-unreadable': client(
    'the encrypted prompt does not open with the stored key, or holds no prompt document',
    'store the key that the prompt was sealed with, seal a document of version 1, and submit again',
    sameAnywhere,
  ),
  'envelope-invalid': client(
    'the prompt is not encrypted for every node of its list',
    'use a client of this version, and submit again under another prompt key',
    sameAnywhere,
  ),
  'prompt-not-supported': client(
    'the model {model} cannot take a part of the prompt, or did not keep to its tool_choice',
    'leave out what it cannot take (such as seed, stop, response_format, tools), or choose another model',
    sameAnywhere,
  ),
  'fhe-decrypt-denied': client(
    'the coprocessor denies the nodes the prompt key',
    'run the job again with another prompt key',
    passes,
  ),
  'coprocessor-unavailable': nodeOperator(
    'the node gets no answer from the coprocessor',
    'check the network, SVC_COFHE_URLS and the status of the coprocessor',
    passes,
  ),
  'encryption-failed': nodeOperator(
    'the node could not encrypt the output key',
    'run `svc-node self-check`. If it fails, download the executable again',
  ),
  'chain-rate-limited': nodeOperator(
    "the rate limit of the node's chain RPC or coprocessor is used up",
    'use an RPC endpoint with a higher rate limit (SVC_COFHE_ENDPOINT)',
    passes,
  ),
  'node-chain-unavailable': nodeOperator(
    "the node's chain RPC does not respond, fails, or is behind the chain",
    'check the network of the node and SVC_COFHE_ENDPOINT, which may name several',
    passes,
  ),
  'wallet-empty': nodeOperator(
    "the node's wallet cannot pay for gas",
    'send gas money to the wallet of the node',
  ),
  'store-key-reverted': nodeOperator(
    'PromptKeyStore refused to store the output key',
    'check the address of PromptKeyStore: the log names the error of the contract',
  ),
  'list-untrusted': serviceOperator(
    'the list that the ICL gave the node is not the one that the client committed to on chain',
    'see whether the ICL and the node read the same chain and PromptKeyStore',
    passes,
  ),
  'output-upload-failed': serviceOperator(
    'the encrypted output could not be uploaded',
    'see why the ICL takes no blobs: its /readyz and its log say',
    passes,
  ),
  'deadline-too-close': nodeOperator(
    "the node's time for the work was over before the work was done",
    'serve a faster model, or lower max_concurrent_jobs',
  ),
  'journal-unwritable': nodeOperator(
    'the node cannot write its job journal',
    'check the disk, and the owner of the folder of the configuration',
  ),
  'node-stopping': nobody(
    'the node was stopped by its operator',
    'another node takes over',
    passes,
  ),
  'signed-before': serviceOperator(
    'the node has signed an answer to this very assignment before',
    'see whether the ICL has lost jobs, and restore them',
  ),
  'node-crashed': nodeOperator(
    'the node could not continue the job after a restart',
    'see in its log and in the log of the machine why it ended: memory may be short',
  ),
  'answer-lost': nobody(
    'a restart of the node lost the text of its answer, which is kept in memory only',
    'another node that agrees delivers',
  ),
  'node-failed': nodeOperator(
    'the node failed unexpectedly',
    'see the log of the node, and report it to its developers',
  ),
  'offer-lapsed': nodeOperator(
    'the node did not take the offer in time',
    'see why the node did not poll: its network, its load, its log, or an ICL that it cannot reach',
    passes,
  ),
  'lease-lapsed': nodeOperator(
    'the node claimed the work and then stopped responding',
    'see whether the node crashed, hangs or lost its network',
  ),
  'never-revealed': nodeOperator(
    'the node committed to an answer and did not reveal it in time',
    'see in the log of the node why it revealed nothing: its network, a restart',
  ),
  'never-delivered': nodeOperator(
    'it was the turn of the node to deliver its answer, and it did not',
    'see in the log of the node what delayed it: the chain RPC or the upload may be slow',
  ),
  'output-refused': nodeOperator(
    'the other nodes found that the delivered output is not the one of its evidence',
    'see whether the delivering node runs changed software',
  ),
  'never-checked': nodeOperator(
    'none of the other nodes could check the delivered output in time',
    'see in the logs of these nodes why: their gateways or the coprocessor may be slow',
  ),
  'grant-refused': nodeOperator(
    'the chain gives the node no access to the prompt key, because it is not active there',
    'see in `svc-node status` what its stake or registration lacks',
  ),
  'node-busy': nobody(
    'the node had no free slot',
    'another node takes over, or this one when it has a slot',
    passes,
  ),
  'node-left': nobody(
    'the node left the pool before it was offered the work',
    'the next node of the list takes over',
    passes,
  ),
  'output-mismatch': nodeOperator(
    'the delivered output does not make the evidence of its node',
    'see whether the node that delivered runs changed software',
  ),
  'output-unavailable': nodeOperator(
    'the node could not get or open the delivered output',
    'see whether the blob was uploaded and the gateways have it',
  ),
} as const satisfies Readonly<Record<string, Cause>>
