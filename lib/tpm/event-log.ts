import { concatBytes } from '../digest.ts'
import { tpmDigest, tpmHashOf } from './algorithms.ts'
import { TpmFormatError } from './bytes.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** One measurement of the boot. */
export type BootEvent = {
  readonly pcr: number
  /** Its TCG event type. */
  readonly type: number
  /** What the requested bank's PCR was extended with. */
  readonly digest: Bytes
  readonly data: Bytes
}

/** False for an entry that no register was extended with, and that could claim anything. */
export const isMeasured = ({ type }: BootEvent): boolean => type !== noAction

/** The longest event log that is read. */
export const maxEventLogBytes = 128 * 1024

const mostEvents = 4_096
const mostDigests = 8
const noAction = 3
const highestPcr = 23
/** Some firmware fills the unused end of its log with this. */
const endOfLog = 0xffffffff

/** Reads little-endian, as firmware writes. */
function createLogReader(bytes: Bytes) {
  const view = new DataView(bytes.buffer)
  let offset = 0
  const take = (length: number): number => {
    if (offset + length > bytes.length) throw new TpmFormatError('The event log ends too early')
    const start = offset
    offset += length
    return start
  }
  return {
    u16: () => view.getUint16(take(2), true),
    u32: () => view.getUint32(take(4), true),
    raw: (length: number): Bytes => {
      const start = take(length)
      return bytes.slice(start, start + length)
    },
    isAtEnd: () => offset >= bytes.length,
  }
}

const text = (bytes: Uint8Array, length: number) =>
  String.fromCharCode(...bytes.subarray(0, length))

/** Parses a TCG crypto-agile event log for one bank (a TPM_ALG_ID); throws TpmFormatError for anything else. */
export function parseEventLog(bytes: Uint8Array, bank: number): readonly BootEvent[] {
  if (bytes.length > maxEventLogBytes) throw new TpmFormatError('The event log is too long')
  const reader = createLogReader(new Uint8Array(bytes))
  reader.raw(4 + 4 + 20)
  const digestBytes = readDigestLengths(reader.raw(reader.u32()))
  const events: BootEvent[] = []
  while (!reader.isAtEnd()) {
    const pcr = reader.u32()
    if (pcr === endOfLog) break
    if (pcr > highestPcr) throw new TpmFormatError('The event log names a PCR that does not exist')
    if (events.length >= mostEvents) throw new TpmFormatError('The event log has too many events')
    const type = reader.u32()
    const count = reader.u32()
    if (count > mostDigests) throw new TpmFormatError('An event has too many digests')
    let digest: Bytes | undefined
    for (let index = 0; index < count; index++) {
      const algorithm = reader.u16()
      const length = digestBytes.get(algorithm)
      if (length === undefined) throw new TpmFormatError('An event has a digest of unknown length')
      const value = reader.raw(length)
      if (algorithm === bank) digest = value
    }
    if (!digest || digest.length !== tpmHashOf(bank).bytes) {
      throw new TpmFormatError('An event has no digest of the bank that was quoted')
    }
    events.push({ pcr, type, digest, data: reader.raw(reader.u32()) })
  }
  return events
}

/** The digest lengths that the log's first event declares, by algorithm. */
function readDigestLengths(header: Bytes): ReadonlyMap<number, number> {
  if (text(header, 15) !== 'Spec ID Event03') {
    throw new TpmFormatError('The event log is not a crypto-agile one')
  }
  const reader = createLogReader(header)
  reader.raw(24)
  const count = reader.u32()
  if (count > mostDigests) throw new TpmFormatError('The event log declares too many digests')
  return new Map(Array.from({ length: count }, () => [reader.u16(), reader.u16()]))
}

/** Returns a bank's PCR values after the events. The events are proven only if these are the quoted values. */
export async function replayEventLog(
  events: readonly BootEvent[],
  bank: number,
): Promise<ReadonlyMap<number, Bytes>> {
  const { bytes: length } = tpmHashOf(bank)
  const values = new Map<number, Bytes>()
  for (const event of events) {
    const { pcr, digest, data } = event
    if (!isMeasured(event)) {
      // PCR 0 starts with the locality of the TPM's startup. That counts only as its first event, or it would void earlier ones.
      if (pcr === 0 && !values.has(0) && text(data, 15) === 'StartupLocality') {
        const start = new Uint8Array(length)
        start[length - 1] = data[16] ?? 0
        values.set(0, start)
      }
      continue
    }
    const before = values.get(pcr) ?? new Uint8Array(length)
    values.set(pcr, await tpmDigest(bank, concatBytes(before, digest)))
  }
  return values
}
