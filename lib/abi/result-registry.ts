// Generated from contracts/ResultRegistry.sol by contracts/build.ts; do not edit.

import { parseAbi } from 'viem'

/** The ABI of ResultRegistry. */
export const resultRegistryAbi = parseAbi([
  'constructor(address coordinator)',
  'error InvalidHolder(bytes32 role, address holder)',
  'error MissingRole(bytes32 role, address caller)',
  'error RoleNotOffered(bytes32 role, address caller)',
  'event ResultCommitted(bytes32 indexed jobId, bytes32 receiptHash)',
  'event ResultConflict(bytes32 indexed jobId, bytes32 recordedReceiptHash, bytes32 offeredReceiptHash)',
  'event RoleOffered(bytes32 indexed role, address indexed holder, address indexed next)',
  'event RoleTransferred(bytes32 indexed role, address indexed previous, address indexed holder)',
  'function COORDINATOR() view returns (bytes32)',
  'function acceptRole(bytes32 role)',
  'function commitResults((bytes32 jobId, bytes32 receiptHash)[] results)',
  'function holderOf(bytes32 role) view returns (address holder)',
  'function offerRole(bytes32 role, address next)',
  'function pendingHolderOf(bytes32 role) view returns (address next)',
  'function resultOf(bytes32 jobId) view returns (bytes32 receiptHash)',
])
