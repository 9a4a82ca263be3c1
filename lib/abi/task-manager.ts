// Generated from contracts/CofheTaskManager.sol by contracts/build.ts; do not edit.

import { parseAbi } from 'viem'

/** The ABI of CofheTaskManager. */
export const taskManagerAbi = parseAbi([
  'error ACLNotAllowed(uint256 handle, address account)',
  'error InvalidSigner(address signer, address expected)',
  'function acl() view returns (address)',
  'function isAllowed(uint256 handle, address account) view returns (bool)',
  'function isPubliclyAllowed(uint256 handle) view returns (bool)',
])
