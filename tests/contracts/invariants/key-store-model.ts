import type { Hex } from 'viem'
import { type Recorder, Reverted } from './outcome.ts'
import { nobody } from './roles-model.ts'

/** An encrypted half as a caller hands it in, and whether the verifier signed it for that caller. */
export type Input = {
  readonly ctHash: bigint
  readonly securityZone: number
  readonly utype: number
  readonly signature: Hex
  /** Whom the verifier signed it for; undefined for a forgery. */
  readonly signedFor: Hex | undefined
}

/** What opens a list's commitment, as it came in the call. */
export type OpenedList = {
  readonly jobId: Hex
  readonly activator: Hex
  readonly until: number
  readonly list: readonly Hex[]
}

export type RecordModel = {
  readonly owner: Hex
  readonly lowHandle: bigint
  /** Who decides about readers. */
  access: 'undecided' | 'named' | 'listed' | 'fixed'
  list: OpenedList | undefined
  used: number
  ended: boolean
  delegate: Hex
  grantsLeft: number
  until: number
}

export type Delegation = {
  readonly readers: readonly Hex[]
  readonly delegate: Hex
  readonly maxGrants: number
  readonly until: number
}

const uint128Type = 6
/** 32 bytes of zero. */
export const noWord: Hex = `0x${'00'.repeat(32)}`

/** The handle that the coprocessor stores a ciphertext under. */
const storedHandle = ({ ctHash, utype, securityZone }: Omit<Input, 'signature'>): bigint =>
  (ctHash & ~0xffffn) | (BigInt(utype & 0x7f) << 8n) | BigInt(securityZone)

/** Who may use which handle, as the coprocessor's access list has it. */
export const createAccessModel = () => {
  const readers = new Map<bigint, Set<Hex>>()
  const open = new Set<bigint>()
  const isAllowed = (handle: bigint, account: Hex): boolean =>
    open.has(handle) || readers.get(handle)?.has(account) === true
  const give = (handle: bigint, account: Hex) => {
    const known = readers.get(handle)
    if (known === undefined) readers.set(handle, new Set([account]))
    else known.add(account)
  }
  const require = (handle: bigint, caller: Hex) => {
    if (!isAllowed(handle, caller)) throw new Reverted('ACLNotAllowed')
  }
  return {
    readers,
    open,
    isAllowed,
    give,
    allow: (caller: Hex, handle: bigint, account: Hex) => {
      require(handle, caller)
      give(handle, account)
    },
    allowGlobal: (caller: Hex, handle: bigint) => {
      require(handle, caller)
      open.add(handle)
    },
  }
}

export type AccessModel = ReturnType<typeof createAccessModel>

/** PromptKeyStore as it is meant. */
export const createKeyStoreModel = (
  store: Hex,
  access: AccessModel,
  isActive: (operator: Hex, now: number) => boolean,
  { emit }: Recorder,
) => {
  const records = new Map<bigint, RecordModel>()
  const taken = new Set<bigint>()

  const verified = (input: Input, caller: Hex): bigint => {
    if (input.utype !== uint128Type) throw new Reverted('InvalidEncryptedInput')
    if (input.signedFor !== caller) throw new Reverted('InvalidSigner')
    return storedHandle(input)
  }
  const checkVerified = (handle: bigint, caller: Hex) => {
    const type = Number((handle >> 8n) & 0x7fn)
    if (type !== uint128Type || access.open.has(handle)) throw new Reverted('InvalidHandle')
    for (const account of [caller, store]) {
      if (!access.isAllowed(handle, account)) throw new Reverted('HandleNotAllowed')
    }
  }
  const checkFree = (high: bigint, low: bigint) => {
    if (high === low) throw new Reverted('EqualHalves')
    if (taken.has(high) || taken.has(low)) throw new Reverted('HandleTaken')
  }
  const keep = (caller: Hex, high: bigint, low: bigint, terms = noWord): RecordModel => {
    const record: RecordModel = {
      ...{ owner: caller, lowHandle: low, delegate: nobody, grantsLeft: 0, until: 0 },
      ...{ access: 'undecided', list: undefined, used: 0, ended: false },
    }
    records.set(high, record)
    for (const handle of [high, low]) {
      taken.add(handle)
      access.give(handle, store)
      access.give(handle, caller)
    }
    emit('KeyStored', caller, high, low, terms)
    return record
  }
  const grant = (high: bigint, low: bigint, reader: Hex, by: Hex) => {
    access.give(high, reader)
    access.give(low, reader)
    emit('AccessGranted', high, low, reader, by)
  }
  const storeInputs = (caller: Hex, high: Input, low: Input, terms?: Hex) => {
    const [highHandle, lowHandle] = [verified(high, caller), verified(low, caller)]
    checkFree(highHandle, lowHandle)
    return [highHandle, keep(caller, highHandle, lowHandle, terms)] as const
  }
  const find = (high: bigint, low: bigint): RecordModel => {
    const record = records.get(high)
    if (record === undefined || record.lowHandle !== low) throw new Reverted('UnknownKey')
    return record
  }
  return {
    records,
    storeInputs,
    find,
    grant,
    storeHandles: (caller: Hex, high: bigint, low: bigint) => {
      checkVerified(high, caller)
      checkVerified(low, caller)
      checkFree(high, low)
      keep(caller, high, low)
    },
    storeDelegated: (
      caller: Hex,
      inputs: readonly [Input, Input],
      { readers, delegate, maxGrants, until }: Delegation,
      now: number,
    ) => {
      if (readers.length > 16) throw new Reverted('TooManyReaders')
      const [high, low] = [verified(inputs[0], caller), verified(inputs[1], caller)]
      checkFree(high, low)
      if (readers.includes(nobody)) throw new Reverted('InvalidReader')
      const isNone = delegate === nobody
      if (isNone ? maxGrants !== 0 || until !== 0 : maxGrants === 0 || until <= now) {
        throw new Reverted('InvalidDelegation')
      }
      const record = keep(caller, high, low)
      for (const reader of readers) grant(high, low, reader, caller)
      if (readers.length > 0 || !isNone) record.access = 'named'
      if (isNone) return
      Object.assign(record, { delegate, grantsLeft: maxGrants, until })
      emit('AccessDelegated', high, low, delegate, maxGrants, until)
    },
    grantAccess: (caller: Hex, high: bigint, low: bigint, reader: Hex, now: number) => {
      const record = find(high, low)
      const isOwner = record.owner === caller
      if (!isOwner && record.delegate !== caller) throw new Reverted('NotAuthorized')
      if (record.access === 'listed' || record.access === 'fixed')
        throw new Reverted('ReadersFixed')
      if (access.isAllowed(high, reader) && access.isAllowed(low, reader)) return
      if (isOwner) {
        if (reader === nobody) throw new Reverted('InvalidReader')
      } else {
        if (now > record.until) throw new Reverted('DelegationExpired')
        if (record.grantsLeft === 0) throw new Reverted('NoGrantsLeft')
        if (!isActive(reader, now)) throw new Reverted('NodeNotActive')
        record.grantsLeft -= 1
      }
      record.access = 'named'
      grant(high, low, reader, caller)
    },
  }
}

export type KeyStoreModel = ReturnType<typeof createKeyStoreModel>
