import type { Hex } from 'viem'
import { type Recorder, Reverted } from './outcome.ts'

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
  /** Its readers were named when it was stored. */
  isOutput: boolean
  list: OpenedList | undefined
  used: number
  ended: boolean
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
export const createKeyStoreModel = (store: Hex, access: AccessModel, { emit }: Recorder) => {
  const records = new Map<bigint, RecordModel>()
  const taken = new Set<bigint>()
  /** By owner and high handle. */
  const bare = new Map<string, bigint>()

  const verified = (input: Input, caller: Hex): bigint => {
    if (input.utype !== uint128Type) throw new Reverted('InvalidEncryptedInput')
    if (input.signedFor !== caller) throw new Reverted('InvalidSigner')
    return storedHandle(input)
  }
  const checkUsable = (handle: bigint, caller: Hex) => {
    const type = Number((handle >> 8n) & 0x7fn)
    if (type !== uint128Type || access.open.has(handle)) throw new Reverted('InvalidHandle')
    if (!access.isAllowed(handle, caller)) throw new Reverted('HandleNotAllowed')
  }
  const checkFree = (high: bigint, low: bigint) => {
    if (high === low) throw new Reverted('EqualHalves')
    if (taken.has(high) || taken.has(low)) throw new Reverted('HandleTaken')
  }
  const keep = (caller: Hex, high: bigint, low: bigint, terms = noWord): RecordModel => {
    const record: RecordModel = {
      ...{ owner: caller, lowHandle: low },
      ...{ isOutput: false, list: undefined, used: 0, ended: false },
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
    lowHandleOf: (owner: Hex, high: bigint) => bare.get(`${owner}${high}`) ?? 0n,
    storeInputs,
    find,
    grant,
    storeHandles: (caller: Hex, high: bigint, low: bigint) => {
      checkUsable(high, caller)
      checkUsable(low, caller)
      if (high === low) throw new Reverted('EqualHalves')
      if (bare.has(`${caller}${high}`)) throw new Reverted('HandleTaken')
      bare.set(`${caller}${high}`, low)
      emit('HandlesStored', caller, high, low)
    },
  }
}

export type KeyStoreModel = ReturnType<typeof createKeyStoreModel>
