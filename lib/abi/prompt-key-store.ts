// Generated from contracts/PromptKeyStore.sol by contracts/build.ts; do not edit.

/** The ABI of PromptKeyStore. */
export const promptKeyStoreAbi = [
  {
    inputs: [{ name: 'nodeRegistry_', type: 'address' }],
    stateMutability: 'nonpayable',
    type: 'constructor',
  },
  { inputs: [{ name: 'until', type: 'uint64' }], name: 'DelegationExpired', type: 'error' },
  { inputs: [{ name: 'handle', type: 'uint256' }], name: 'EqualHalves', type: 'error' },
  {
    inputs: [
      { name: 'handle', type: 'uint256' },
      { name: 'account', type: 'address' },
    ],
    name: 'HandleNotAllowed',
    type: 'error',
  },
  { inputs: [{ name: 'handle', type: 'uint256' }], name: 'HandleTaken', type: 'error' },
  { inputs: [], name: 'InvalidDelegation', type: 'error' },
  {
    inputs: [
      { name: 'got', type: 'uint8' },
      { name: 'expected', type: 'uint8' },
    ],
    name: 'InvalidEncryptedInput',
    type: 'error',
  },
  { inputs: [{ name: 'handle', type: 'uint256' }], name: 'InvalidHandle', type: 'error' },
  { inputs: [], name: 'InvalidReader', type: 'error' },
  { inputs: [], name: 'NoGrantsLeft', type: 'error' },
  { inputs: [{ name: 'reader', type: 'address' }], name: 'NodeNotActive', type: 'error' },
  { inputs: [{ name: 'caller', type: 'address' }], name: 'NotAuthorized', type: 'error' },
  { inputs: [{ name: 'count', type: 'uint256' }], name: 'TooManyReaders', type: 'error' },
  {
    inputs: [
      { name: 'highHandle', type: 'uint256' },
      { name: 'lowHandle', type: 'uint256' },
    ],
    name: 'UnknownKey',
    type: 'error',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'highHandle', type: 'uint256' },
      { indexed: false, name: 'lowHandle', type: 'uint256' },
      { indexed: true, name: 'delegate', type: 'address' },
      { indexed: false, name: 'maxGrants', type: 'uint32' },
      { indexed: false, name: 'until', type: 'uint64' },
    ],
    name: 'AccessDelegated',
    type: 'event',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'highHandle', type: 'uint256' },
      { indexed: false, name: 'lowHandle', type: 'uint256' },
      { indexed: true, name: 'reader', type: 'address' },
      { indexed: true, name: 'by', type: 'address' },
    ],
    name: 'AccessGranted',
    type: 'event',
  },
  {
    anonymous: false,
    inputs: [
      { indexed: true, name: 'owner', type: 'address' },
      { indexed: true, name: 'highHandle', type: 'uint256' },
      { indexed: true, name: 'lowHandle', type: 'uint256' },
    ],
    name: 'KeyStored',
    type: 'event',
  },
  {
    inputs: [],
    name: 'MAX_READERS',
    outputs: [{ name: '', type: 'uint256' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [
      { name: 'highHandle', type: 'uint256' },
      { name: 'lowHandle', type: 'uint256' },
      { name: 'reader', type: 'address' },
    ],
    name: 'grantAccess',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [],
    name: 'nodeRegistry',
    outputs: [{ name: '', type: 'address' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [
      { name: 'highHandle', type: 'uint256' },
      { name: 'lowHandle', type: 'uint256' },
    ],
    name: 'recordOf',
    outputs: [
      { name: 'owner', type: 'address' },
      { name: 'delegate', type: 'address' },
      { name: 'grantsLeft', type: 'uint32' },
      { name: 'until', type: 'uint64' },
    ],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [
      {
        components: [
          { name: 'ctHash', type: 'uint256' },
          { name: 'securityZone', type: 'uint8' },
          { name: 'utype', type: 'uint8' },
          { name: 'signature', type: 'bytes' },
        ],
        name: 'high',
        type: 'tuple',
      },
      {
        components: [
          { name: 'ctHash', type: 'uint256' },
          { name: 'securityZone', type: 'uint8' },
          { name: 'utype', type: 'uint8' },
          { name: 'signature', type: 'bytes' },
        ],
        name: 'low',
        type: 'tuple',
      },
      { name: 'readers', type: 'address[]' },
      { name: 'delegate', type: 'address' },
      { name: 'maxGrants', type: 'uint32' },
      { name: 'until', type: 'uint64' },
    ],
    name: 'storeKey',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [
      { name: 'highHandle', type: 'uint256' },
      { name: 'lowHandle', type: 'uint256' },
    ],
    name: 'storeKey',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
  {
    inputs: [
      {
        components: [
          { name: 'ctHash', type: 'uint256' },
          { name: 'securityZone', type: 'uint8' },
          { name: 'utype', type: 'uint8' },
          { name: 'signature', type: 'bytes' },
        ],
        name: 'high',
        type: 'tuple',
      },
      {
        components: [
          { name: 'ctHash', type: 'uint256' },
          { name: 'securityZone', type: 'uint8' },
          { name: 'utype', type: 'uint8' },
          { name: 'signature', type: 'bytes' },
        ],
        name: 'low',
        type: 'tuple',
      },
    ],
    name: 'storeKey',
    outputs: [],
    stateMutability: 'nonpayable',
    type: 'function',
  },
] as const
