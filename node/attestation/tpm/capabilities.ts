import { createTpmWriter, TpmFormatError, type TpmReader } from '../../../lib/tpm/bytes.ts'
import type { Tpm } from './tpm-command.ts'

const handlesCapability = 1
const propertiesCapability = 6
const mostItems = 1_024
const mostAtOnce = 64
const fixedProperties = 0x100
const variableProperties = 0x200

async function capability(
  tpm: Tpm,
  kind: number,
  first: number,
): Promise<{ readonly items: TpmReader; readonly count: number; readonly hasMore: boolean }> {
  const parameters = createTpmWriter().u32(kind).u32(first).u32(mostAtOnce).done()
  const { parameters: items } = await tpm.send({ name: 'GetCapability', parameters })
  const hasMore = items.u8() !== 0
  if (items.u32() !== kind)
    throw new TpmFormatError('The TPM returned another capability than the one asked for')
  const count = items.u32()
  if (count > mostItems) throw new TpmFormatError('The TPM lists too much')
  return { items, count, hasMore }
}

/** Returns the handles from `first` on that have the same first byte, ascending. */
export async function listHandles(tpm: Tpm, first: number): Promise<readonly number[]> {
  const handles: number[] = []
  for (let next = first; ; ) {
    const { items, count, hasMore } = await capability(tpm, handlesCapability, next)
    for (let index = 0; index < count; index++) {
      handles.push(items.u32())
    }
    const last = handles.at(-1)
    if (!hasMore || count === 0 || last === undefined || handles.length > mostItems) return handles
    next = last + 1
  }
}

/** A TPM's make. The firmware is its two numbers. */
export type TpmModel = {
  /** Four letters, such as INTC. */
  readonly manufacturer: string
  readonly model: string
  readonly firmware: string
  /** Whether wrong passwords have locked it. */
  readonly isLocked: boolean
}

const property = {
  manufacturer: 0x105,
  vendor: [0x106, 0x107, 0x108, 0x109],
  firmwareHigh: 0x10b,
  firmwareLow: 0x10c,
  permanent: 0x200,
} as const
const inLockout = 1 << 9

/** Reads the TPM's make. */
export async function readModel(tpm: Tpm): Promise<TpmModel> {
  const known = new Map<number, number>()
  for (const first of [fixedProperties, variableProperties]) {
    const { items, count } = await capability(tpm, propertiesCapability, first)
    for (let index = 0; index < count; index++) known.set(items.u32(), items.u32())
  }
  const numberOf = (id: number) => known.get(id) ?? 0
  const halves = (value: number) => [value >>> 16, value & 0xffff]
  return {
    manufacturer: lettersOf([numberOf(property.manufacturer)]),
    model: lettersOf(property.vendor.map(numberOf)),
    firmware: [property.firmwareHigh, property.firmwareLow]
      .flatMap((id) => halves(numberOf(id)))
      .join('.'),
    isLocked: (numberOf(property.permanent) & inLockout) !== 0,
  }
}

/** Decodes four letters from each number, without unprintable ones. */
const lettersOf = (words: readonly number[]): string =>
  words
    .flatMap((word) => [word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff])
    .filter((code) => code > 0x20 && code < 0x7f)
    .map((code) => String.fromCharCode(code))
    .join('')
