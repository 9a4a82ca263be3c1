import { type Cause, client, nobody, passes, serviceOperator } from './cause.ts'

/** Causes of failed calls to the ICL or the chain. They end no assignment. */
export const callCauses = {
  'icl-unreachable': client(
    'the ICL cannot be reached or does not respond in time',
    'check the network and the ICL address (SVC_ICL_ENDPOINT)',
    passes,
  ),
  'icl-unexpected-answer': client(
    "the server at the ICL's address is no ICL of this version",
    'check that the ICL address is right and that its version fits this one',
  ),
  'chain-unavailable': serviceOperator(
    'the chain RPC does not respond',
    'check the chain RPC, its URL and its network',
    passes,
  ),
  'chain-too-many-requests': serviceOperator(
    'the chain RPC refuses requests: too many requests',
    'wait, or use an RPC endpoint with a higher limit',
    passes,
  ),
  'chain-rpc-failed': serviceOperator(
    'the chain RPC fails inside',
    'wait, or use another RPC endpoint. Nothing is wrong with the contract',
    passes,
  ),
  'chain-wallet-empty': serviceOperator(
    'the account that sends the transaction cannot pay for its gas',
    'send gas money to the account that the message names',
    passes,
  ),
  'chain-fees-too-low': nobody(
    'the gas price rose above the fees of the transaction',
    'try again: it is sent again with the fees that the chain asks then',
    passes,
  ),
  'chain-reverted': serviceOperator(
    'the contract reverted',
    'check the address of the contract, and the role of the coordinator there. What is not on chain is sent again',
    passes,
  ),
  'chain-contract-wrong': serviceOperator(
    'the configured contract is not at its address',
    'correct the address in the settings, or deploy the contract there. Results wait until then',
    passes,
  ),
  'chain-no-blocks': serviceOperator(
    'no block takes the transactions of the coordinator',
    'check whether the chain makes blocks, and what gas costs there. The transactions stay sent',
    passes,
  ),
  'commit-missing': serviceOperator(
    'the result is not on chain yet',
    "see the reasons in the ICL's /readyz. The commit is tried again until it succeeds",
  ),
} as const satisfies Readonly<Record<string, Cause>>
