import type { Hex } from 'viem'
import { noWord } from './key-store-model.ts'
import type { Recorder } from './outcome.ts'
import { createRolesModel, role } from './roles-model.ts'

export type Result = { readonly jobId: Hex; readonly receiptHash: Hex }

/** ResultRegistry as it is meant. */
export const createResultRegistryModel = (coordinator: Hex, recorder: Recorder) => {
  const roles = createRolesModel({ coordinator }, recorder)
  const receipts = new Map<Hex, Hex>()
  const { emit } = recorder
  return {
    roles,
    /** The hashes of receipts by job. */
    receipts,
    commitResults: (caller: Hex, results: readonly Result[]) => {
      roles.require(role('coordinator'), caller)
      for (const { jobId, receiptHash } of results) {
        const recorded = receipts.get(jobId)
        if (recorded === undefined) {
          if (receiptHash === noWord) continue
          receipts.set(jobId, receiptHash)
          emit('ResultCommitted', jobId, receiptHash)
        } else if (recorded !== receiptHash) {
          emit('ResultConflict', jobId, recorded, receiptHash)
        }
      }
    },
  }
}
