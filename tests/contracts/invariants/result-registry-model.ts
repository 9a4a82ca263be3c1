import type { Hex } from 'viem'
import { type Recorder, textOf } from './outcome.ts'
import { createRolesModel, role } from './roles-model.ts'

export type Result = {
  readonly jobId: Hex
  readonly outputCidHash: Hex
  readonly receiptHash: Hex
  readonly leader: Hex
  readonly matchCount: number
  readonly noMatchCount: number
  readonly verifiers: readonly Hex[]
}

/** A result as text, to compare by. */
export const resultText = (result: Result): string =>
  textOf([
    result.jobId,
    result.outputCidHash,
    result.receiptHash,
    result.leader,
    result.matchCount,
    result.noMatchCount,
    result.verifiers,
  ])

/** ResultRegistry as it is meant. */
export const createResultRegistryModel = (coordinator: Hex, recorder: Recorder) => {
  const roles = createRolesModel({ coordinator }, recorder)
  const entries = new Map<Hex, { readonly result: Result; readonly committedAt: number }>()
  const { emit } = recorder
  return {
    roles,
    entries,
    commitResults: (caller: Hex, results: readonly Result[], now: number) => {
      roles.require(role('coordinator'), caller)
      for (const result of results) {
        const { jobId, outputCidHash, receiptHash, leader, verifiers } = result
        const recorded = entries.get(jobId)?.result
        if (recorded === undefined) {
          entries.set(jobId, { result, committedAt: now })
          const counts = [result.matchCount, result.noMatchCount]
          emit('ResultCommitted', jobId, outputCidHash, receiptHash, leader, verifiers, ...counts)
        } else if (resultText(recorded) !== resultText(result)) {
          emit('ResultConflict', jobId, recorded.receiptHash, receiptHash, outputCidHash)
        }
      }
    },
  }
}
