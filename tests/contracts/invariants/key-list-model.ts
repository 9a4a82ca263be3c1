import type { Hex } from 'viem'
import { Address, JobId } from '../../../lib/codecs.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import {
  type Input,
  type KeyStoreModel,
  noWord,
  type OpenedList,
  type RecordModel,
} from './key-store-model.ts'
import { type Recorder, Reverted } from './outcome.ts'
import { nobody } from './roles-model.ts'

/** An output key as a node asks for it. */
export type OutputRequest = {
  readonly prompt: bigint
  readonly opened: OpenedList
  readonly self: number
  readonly mask: number
}

const has = (mask: number, position: number): boolean => ((mask >> position) & 1) === 1

/** The commitment of a list, zero for none. */
export const commitmentOf = (opened: OpenedList | undefined): Hex =>
  opened === undefined
    ? noWord
    : listCommitment({
        jobId: JobId.parse(opened.jobId),
        activator: Address.parse(opened.activator),
        until: opened.until,
        list: opened.list.map((node) => Address.parse(node)),
      })

const checkList = (list: readonly Hex[], owner: Hex) => {
  if (list.length < 3 || list.length > 16) throw new Reverted('InvalidListLength')
  const isOdd = list.some((node) => node === nobody || node === owner)
  if (isOdd || new Set(list).size !== list.length) throw new Reverted('InvalidListEntry')
}

/** Lists and output keys of PromptKeyStore as they are meant. */
export const createKeyListModel = (
  keys: KeyStoreModel,
  isActive: (operator: Hex, now: number) => boolean,
  { emit }: Recorder,
) => {
  const ownRecord = (caller: Hex, high: bigint, low: bigint): RecordModel => {
    const record = keys.find(high, low)
    if (record.owner !== caller) throw new Reverted('NotAuthorized')
    if (record.isOutput) throw new Reverted('ReadersFixed')
    return record
  }
  const checkCommitment = (record: RecordModel | undefined, opened: OpenedList) => {
    if (commitmentOf(record?.list) !== commitmentOf(opened)) throw new Reverted('WrongList')
  }
  const grantAll = (high: bigint, low: bigint, list: readonly Hex[], mask: number, by: Hex) => {
    for (const [position, node] of list.entries()) {
      if (has(mask, position)) keys.grant(high, low, node, by)
    }
  }
  return {
    commitList: (
      caller: Hex,
      [high, low]: readonly [bigint, bigint],
      opened: OpenedList,
      mask: number,
      now: number,
    ) => {
      const record = ownRecord(caller, high, low)
      if (record.list !== undefined) throw new Reverted('ListAlreadyCommitted')
      if (record.ended) throw new Reverted('ListHasEnded')
      const { jobId, activator, until, list } = opened
      checkList(list, caller)
      if (mask === 0 || mask >> list.length !== 0) throw new Reverted('InvalidMask')
      if (activator === nobody) throw new Reverted('InvalidActivator')
      if (until <= now) throw new Reverted('ListExpired')
      Object.assign(record, { list: opened, used: mask })
      emit('ListCommitted', high, low, jobId, commitmentOf(opened), mask, activator, until)
      grantAll(high, low, list, mask, caller)
    },
    activate: (
      caller: Hex,
      [high, low]: readonly [bigint, bigint],
      opened: Omit<OpenedList, 'activator'>,
      index: number,
      now: number,
    ) => {
      const record = keys.find(high, low)
      checkCommitment(record, { ...opened, activator: caller })
      const node = opened.list[index]
      if (node === undefined) throw new Reverted('NotOnList')
      if (has(record.used, index)) return
      if (record.ended) throw new Reverted('ListHasEnded')
      if (now > opened.until) throw new Reverted('ListExpired')
      if (!isActive(node, now)) throw new Reverted('NodeNotActive')
      record.used |= 1 << index
      keys.grant(high, low, node, caller)
    },
    endList: (caller: Hex, high: bigint, low: bigint) => {
      const record = ownRecord(caller, high, low)
      if (record.ended) return
      record.ended = true
      emit('ListEnded', high, low)
    },
    storeOutputKey: (caller: Hex, [high, low]: readonly [Input, Input], request: OutputRequest) => {
      const { prompt, opened, self, mask } = request
      const record = keys.records.get(prompt)
      checkCommitment(record, opened)
      if (opened.list[self] !== caller) throw new Reverted('NotOnList')
      const needed = mask | (1 << self)
      if (record === undefined || (needed & ~record.used) !== 0) throw new Reverted('NotActivated')
      const [highHandle, output] = keys.storeInputs(caller, high, low)
      output.isOutput = true
      emit('OutputKeyStored', highHandle, prompt, opened.jobId, self, mask)
      keys.grant(highHandle, output.lowHandle, record.owner, caller)
      grantAll(highHandle, output.lowHandle, opened.list, mask & ~(1 << self), caller)
    },
  }
}
