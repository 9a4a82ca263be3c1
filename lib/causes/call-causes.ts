import type { Cause } from './cause.ts'

/** Causes of failed calls to the ICL or the chain. They end no assignment. */
export const callCauses = {
  'icl-unreachable': {
    who: 'client',
    what: 'the ICL cannot be reached or does not respond in time',
    remedy: 'check the network and the ICL address (SVC_ICL_ENDPOINT)',
    passes: true,
  },
  'icl-unexpected-answer': {
    who: 'client',
    what: "the server at the ICL's address is no ICL of this version",
    remedy: 'check that the ICL address is right and that its version fits this one',
  },
  'chain-unavailable': {
    who: 'service operator',
    what: 'the chain RPC does not respond',
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
    remedy: 'wait, or use another RPC endpoint. Nothing is wrong with the contract',
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
    remedy: 'try again: it is sent again with the fees that the chain asks then',
    passes: true,
  },
  'chain-reverted': {
    who: 'service operator',
    what: 'the contract reverted',
    remedy:
      'check the address of the contract, and the role of the coordinator there. What is not on chain is sent again',
    passes: true,
  },
  'chain-contract-wrong': {
    who: 'service operator',
    what: 'the configured contract is not at its address',
    remedy:
      'correct the address in the settings, or deploy the contract there. Results wait until then',
    passes: true,
  },
  'chain-no-blocks': {
    who: 'service operator',
    what: 'no block takes the transactions of the coordinator',
    remedy:
      'check whether the chain makes blocks, and what gas costs there. The transactions stay sent',
    passes: true,
  },
  'commit-missing': {
    who: 'service operator',
    what: 'the result is not on chain yet',
    remedy: "see the reasons in the ICL's /readyz. The commit is tried again until it succeeds",
  },
} as const satisfies Readonly<Record<string, Cause>>
