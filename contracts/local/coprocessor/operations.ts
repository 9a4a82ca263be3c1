import { randomUUID } from 'node:crypto'
import { hexToBytes, numberToHex, toHex } from 'viem'
import type { z } from 'zod'
import type { ChainReader } from '../../../lib/chain/clients.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Ciphertexts } from './ciphertexts.ts'
import { checkPermit } from './permit-check.ts'
import type { DecryptRequest, VerifyRequest } from './requests.ts'
import { sealValue } from './seal-value.ts'
import { ServiceError } from './service-error.ts'
import type { TfheProcess } from './tfhe-process.ts'
import { proofMetadata, uint128Type, type Verifier } from './verifier.ts'

/** The dependencies of the operations. */
export type OperationDeps = {
  readonly chainId: number
  readonly chain: ChainReader
  readonly clock: Clock
  readonly ciphertexts: Ciphertexts
  readonly tfhe: TfheProcess
  readonly verifier: Verifier
}

const checkChain = (asked: number, chainId: number): void => {
  if (asked === chainId) return
  throw new ServiceError(400, 'unknown_chain', `this is the coprocessor of chain ${chainId}`)
}

/** Checks a proof and signs its ciphertexts. */
export const verifyInputs = async (
  { chainId, tfhe, verifier }: OperationDeps,
  request: z.output<typeof VerifyRequest>,
  signal: AbortSignal,
) => {
  checkChain(request.chain_id, chainId)
  const { account_addr: account, security_zone: zone } = request
  const metadata = Buffer.from(proofMetadata(zone, account, chainId)).toString('base64')
  const list = Buffer.from(request.packed_list, 'hex').toString('base64')
  const rawHashes = await tfhe.run('verify', { list, metadata }, signal)
  const data = await Promise.all(
    rawHashes.map(async (rawHash) => ({
      ct_hash: rawHash,
      ...(await verifier.signInput(rawHash, zone, account)),
    })),
  )
  return { status: 'success', data, error: null }
}

const open = async (
  { chainId, chain, clock, ciphertexts, tfhe }: OperationDeps,
  request: z.output<typeof DecryptRequest>,
  signal: AbortSignal,
): Promise<bigint> => {
  checkChain(request.host_chain_id, chainId)
  const { ct_tempkey: handle, permit } = request
  // Every verified ciphertext is on this disk, so a missing one will not appear later.
  if (!ciphertexts.has(handle)) {
    throw new ServiceError(404, 'ct_not_found', 'there is no such ciphertext')
  }
  await checkPermit(chain, clock, permit, handle)
  return BigInt(await tfhe.run('decrypt', { handle: toHex(handle, { size: 32 }) }, signal))
}

/** Decrypts, and seals the value to the permit's key. */
export const sealOutput = async (
  deps: OperationDeps,
  request: z.output<typeof DecryptRequest>,
  signal: AbortSignal,
) => {
  const value = await open(deps, request, signal)
  return {
    request_id: randomUUID(),
    sealed: sealValue(value, request.permit.sealingKey),
    encryption_type: uint128Type,
    is_succeed: true,
    error_message: null,
  }
}

/** Decrypts in plain text, with a signature that a contract can check. */
export const decryptOutput = async (
  deps: OperationDeps,
  request: z.output<typeof DecryptRequest>,
  signal: AbortSignal,
) => {
  const value = await open(deps, request, signal)
  const signature = await deps.verifier.signValue(value, request.ct_tempkey)
  return {
    request_id: randomUUID(),
    decrypted: [...hexToBytes(numberToHex(value, { size: 32 }))],
    signature: signature.slice('0x'.length),
    encryption_type: uint128Type,
  }
}
