import { parseAbi } from 'viem'
import {
  isRateLimited,
  isRevert,
  isUnreachable,
  revertNameOf,
} from '../../../lib/chain/chain-error.ts'
import type { ChainReader } from '../../../lib/chain/clients.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { type Clock, unixSeconds } from '../../../lib/clock.ts'
import type { Permit } from './requests.ts'
import { ServiceError } from './service-error.ts'

const retryAfterSeconds = 2

const accessListAbi = parseAbi([
  'struct Permission { address issuer; uint64 expiration; address recipient; uint256 validatorId; address validatorContract; bytes32 sealingKey; bytes issuerSignature; bytes recipientSignature; }',
  'function acl() view returns (address)',
  'function isAllowedWithPermission(Permission permission, uint256 handle) view returns (bool)',
  'error PermissionInvalid_Expired()',
  'error PermissionInvalid_IssuerSignature()',
  'error PermissionInvalid_RecipientSignature()',
  'error PermissionInvalid_Disabled()',
])

const denied = (reason: string): ServiceError =>
  new ServiceError(403, 'acl_denied', `ACL denied: ${reason}`)

const toServiceError = (error: unknown): ServiceError => {
  if (isRateLimited(error)) {
    const message = 'the RPC of the chain limits requests'
    return new ServiceError(429, 'rpc_rate_limited', message, retryAfterSeconds)
  }
  if (isRevert(error)) return denied(revertNameOf(error) ?? 'PermissionInvalid')
  if (isUnreachable(error)) {
    const message = 'the RPC of the chain does not respond'
    return new ServiceError(503, 'rpc_unreachable', message, retryAfterSeconds)
  }
  return new ServiceError(502, 'acl_check_failed', 'the access list could not be read')
}

/** Checks that the chain lets a permit's issuer use a handle. Throws ServiceError 403 if not, 429, 502 or 503 if unknown. */
export const checkPermit = async (
  { publicClient }: ChainReader,
  clock: Clock,
  permit: Permit,
  handle: bigint,
): Promise<void> => {
  // The time of the chain is that of its last block, which may be long ago on a chain without traffic.
  if (permit.expiration < BigInt(unixSeconds(clock))) throw denied('PermissionInvalid_Expired')
  let allowed: boolean
  try {
    const abi = accessListAbi
    const manager = { address: taskManager, abi }
    const address = await publicClient.readContract({ ...manager, functionName: 'acl' })
    const asked = { functionName: 'isAllowedWithPermission', args: [permit, handle] } as const
    allowed = await publicClient.readContract({ address, abi, ...asked })
  } catch (error) {
    throw toServiceError(error)
  }
  if (!allowed) throw denied('NotAllowed')
}
