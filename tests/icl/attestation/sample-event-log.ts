import { concatBytes, sha256, toBase64Url, utf8 } from '../../../lib/digest.ts'
import { tpmAlgorithm } from '../../../lib/tpm/algorithms.ts'
import { fromHex } from '../../../lib/tpm/hex.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** One measurement: what is hashed, or the digest where that is something else. */
export type Measurement = {
  readonly pcr: number
  readonly type: number
  readonly data: Bytes
  readonly digest?: Bytes
}

const u16 = (value: number) => Uint8Array.of(value & 0xff, value >> 8)
const u32 = (value: number) => concatBytes(u16(value & 0xffff), u16(value >>> 16))
const u64 = (value: number) => concatBytes(u32(value), u32(0))
const utf16 = (text: string) => concatBytes(...[...text].map((letter) => u16(letter.charCodeAt(0))))

/** EV_EFI_VARIABLE_DRIVER_CONFIG. */
export const variableEvent = 0x80000001

/** What firmware measures of its variable SecureBoot. */
export const secureBootVariable = (value: number): Bytes =>
  concatBytes(
    fromHex('61dfe48bca93d211aa0d00e098032b8c'),
    u64('SecureBoot'.length),
    u64(1),
    utf16('SecureBoot'),
    Uint8Array.of(value),
  )

/** Where firmware ends its own measurements of a register. */
export const separator: Measurement = { pcr: 7, type: 4, data: new Uint8Array(4) }

/** A boot that measured its firmware, secure boot and a loader. */
export const sampleBoot: readonly Measurement[] = [
  { pcr: 0, type: 8, data: utf8('firmware 1.0') },
  { pcr: 7, type: variableEvent, data: secureBootVariable(1) },
  separator,
  { pcr: 4, type: 0x80000003, data: utf8('boot loader') },
]

/** A crypto-agile event log (base64url) as firmware writes it, and the register values that it leads to. */
export async function sampleEventLog(boot: readonly Measurement[] = sampleBoot, locality = 3) {
  const header = concatBytes(
    utf8('Spec ID Event03\0'),
    u32(0),
    Uint8Array.of(0, 2, 0, 2),
    u32(2),
    u16(tpmAlgorithm.sha1),
    u16(20),
    u16(tpmAlgorithm.sha256),
    u16(32),
    Uint8Array.of(0),
  )
  const start = concatBytes(utf8('StartupLocality\0'), Uint8Array.of(locality))
  const zero = new Uint8Array(32)
  const parts: Bytes[] = [
    concatBytes(u32(0), u32(3), new Uint8Array(20), u32(header.length), header),
    eventOf({ pcr: 0, type: 3, data: start, digest: zero }, zero),
  ]
  const pcrs = new Map<number, Bytes>([
    [0, concatBytes(new Uint8Array(31), Uint8Array.of(locality))],
  ])
  for (const measurement of boot) {
    const digest = measurement.digest ?? (await sha256(measurement.data))
    parts.push(eventOf(measurement, digest))
    const before = pcrs.get(measurement.pcr) ?? zero
    pcrs.set(measurement.pcr, await sha256(concatBytes(before, digest)))
  }
  return { log: toBase64Url(concatBytes(...parts)), pcrs }
}

const eventOf = ({ pcr, type, data }: Measurement, digest: Bytes): Bytes =>
  concatBytes(
    u32(pcr),
    u32(type),
    u32(2),
    u16(tpmAlgorithm.sha1),
    new Uint8Array(20),
    u16(tpmAlgorithm.sha256),
    digest,
    u32(data.length),
    data,
  )
