// Generated from contracts/ResultRegistry.sol by contracts/build.ts; do not edit.

/** The ABI of ResultRegistry. */
export const resultRegistryAbi = [
  {
    inputs: [{ name: 'coordinator', type: 'address' }],
    stateMutability: 'nonpayable',
    type: 'constructor',
  },
  {
    inputs: [
      { name: 'role', type: 'bytes32' },
      { name: 'holder', type: 'address' },
    ],
    name: 'InvalidHolder',
    type: 'error',
  },
  {
    inputs: [
      { name: 'role', type: 'bytes32' },
      { name: 'caller', type: 'address' },
    ],
    name: 'MissingRole',
    type: 'error',
  },
  {
    inputs: [
      { name: 'role', type: 'bytes32' },
      { name: 'caller', type: 'address' },
    ],
    name: 'RoleNotOffered',
    type: 'error',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'jobId', type: 'bytes32' },
      { indexed: false, name: 'outputCidHash', type: 'bytes32' },
      { indexed: false, name: 'receiptHash', type: 'bytes32' },
      { indexed: true, name: 'leader', type: 'address' },
      { indexed: false, name: 'verifiers', type: 'address[]' },
      { indexed: false, name: 'matchCount', type: 'uint16' },
      { indexed: false, name: 'noMatchCount', type: 'uint16' },
    ],
    name: 'ResultCommitted',
    type: 'event',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'jobId', type: 'bytes32' },
      { indexed: false, name: 'recordedReceiptHash', type: 'bytes32' },
      { indexed: false, name: 'offeredReceiptHash', type: 'bytes32' },
      { indexed: false, name: 'offeredOutputCidHash', type: 'bytes32' },
    ],
    name: 'ResultConflict',
    type: 'event',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'role', type: 'bytes32' },
      { indexed: true, name: 'holder', type: 'address' },
      { indexed: true, name: 'next', type: 'address' },
    ],
    name: 'RoleOffered',
    type: 'event',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'role', type: 'bytes32' },
      { indexed: true, name: 'previous', type: 'address' },
      { indexed: true, name: 'holder', type: 'address' },
    ],
    name: 'RoleTransferred',
    type: 'event',
  },
  {
    inputs: [],
    name: 'COORDINATOR',
    outputs: [{ name: '', type: 'bytes32' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [{ name: 'role', type: 'bytes32' }],
    name: 'acceptRole',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [
      {
        components: [
          { name: 'jobId', type: 'bytes32' },
          { name: 'outputCidHash', type: 'bytes32' },
          { name: 'receiptHash', type: 'bytes32' },
          { name: 'leader', type: 'address' },
          { name: 'matchCount', type: 'uint16' },
          { name: 'noMatchCount', type: 'uint16' },
          { name: 'verifiers', type: 'address[]' },
        ],
        name: 'results',
        type: 'tuple[]',
      },
    ],
    name: 'commitResults',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [{ name: 'role', type: 'bytes32' }],
    name: 'holderOf',
    outputs: [{ name: 'holder', type: 'address' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [
      { name: 'role', type: 'bytes32' },
      { name: 'next', type: 'address' },
    ],
    name: 'offerRole',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [{ name: 'role', type: 'bytes32' }],
    name: 'pendingHolderOf',
    outputs: [{ name: 'next', type: 'address' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [{ name: 'jobId', type: 'bytes32' }],
    name: 'resultOf',
    outputs: [
      {
        components: [
          { name: 'jobId', type: 'bytes32' },
          { name: 'outputCidHash', type: 'bytes32' },
          { name: 'receiptHash', type: 'bytes32' },
          { name: 'leader', type: 'address' },
          { name: 'matchCount', type: 'uint16' },
          { name: 'noMatchCount', type: 'uint16' },
          { name: 'verifiers', type: 'address[]' },
        ],
        name: 'result',
        type: 'tuple',
      },
      { name: 'committedAt', type: 'uint64' },
    ],
    stateMutability: 'view',
    type: 'function',
  },
] as const
