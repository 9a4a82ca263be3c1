import { equalBytes, sha256 } from '../../lib/digest.ts'
import type { BootEvent } from '../../lib/tpm/event-log.ts'
import { fromHex } from '../../lib/tpm/hex.ts'

const secureBootPcr = 7
/** The separator that firmware measures at the end of its own events. Software that starts later can extend the register only after it. */
const separators = [Uint8Array.of(0, 0, 0, 0), Uint8Array.of(0xff, 0xff, 0xff, 0xff)]
/** EFI_GLOBAL_VARIABLE as it lies in memory. */
const globalVariable = fromHex('61dfe48bca93d211aa0d00e098032b8c')
const variableName = 'SecureBoot'
const headBytes = 16 + 8 + 8

/**
 * True when firmware measured that UEFI secure boot was on, and never that it was off. The register covers only digests. An event's type
 * proves nothing, and its data only if it hashes to its digest.
 */
export async function isSecureBoot(measured: readonly BootEvent[]): Promise<boolean> {
  const ends = await Promise.all(separators.map(sha256))
  let isOn = false
  for (const { pcr, digest, data } of measured) {
    if (pcr !== secureBootPcr) continue
    if (ends.some((end) => equalBytes(end, digest))) return isOn
    if (!equalBytes(await sha256(data), digest)) return false
    const value = secureBootIn(data)
    if (value === undefined) continue
    if (value !== 1) return false
    isOn = true
  }
  return false
}

/** The value of the variable SecureBoot in a UEFI_VARIABLE_DATA. Undefined for other variables, NaN for a value that is not one byte. */
function secureBootIn(data: Uint8Array): number | undefined {
  if (data.length < headBytes || !equalBytes(data.subarray(0, 16), globalVariable)) return
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const nameEnd = headBytes + Number(view.getBigUint64(16, true)) * 2
  const valueBytes = view.getBigUint64(24, true)
  if (nameEnd > data.length) return
  const name = new TextDecoder('utf-16le').decode(data.subarray(headBytes, nameEnd))
  if (name !== variableName) return
  return valueBytes === 1n && data.length === nameEnd + 1 ? data[nameEnd] : Number.NaN
}
