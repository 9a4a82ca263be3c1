// Generated from contracts/CofheTaskManager.sol by contracts/build.ts; do not edit.

/** The ABI of CofheTaskManager. */
export const taskManagerAbi = [
  {
    inputs: [
      { name: 'handle', type: 'uint256' },
      { name: 'account', type: 'address' },
    ],
    name: 'ACLNotAllowed',
    type: 'error',
  },
  {
    inputs: [
      { name: 'signer', type: 'address' },
      { name: 'expected', type: 'address' },
    ],
    name: 'InvalidSigner',
    type: 'error',
  },
  {
    inputs: [],
    name: 'acl',
    outputs: [{ name: '', type: 'address' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [
      { name: 'handle', type: 'uint256' },
      { name: 'account', type: 'address' },
    ],
    name: 'isAllowed',
    outputs: [{ name: '', type: 'bool' }],
    stateMutability: 'view',
    type: 'function',
  },
  {
    inputs: [{ name: 'handle', type: 'uint256' }],
    name: 'isPubliclyAllowed',
    outputs: [{ name: '', type: 'bool' }],
    stateMutability: 'view',
    type: 'function',
  },
] as const
