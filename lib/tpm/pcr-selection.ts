import { createTpmWriter, TpmFormatError, type TpmReader } from './bytes.ts'

/** Selects registers of one bank. */
export type PcrSelection = {
  /** The bank's hash (TPM_ALG_ID). */
  readonly bank: number
  /** Indices, ascending. */
  readonly pcrs: readonly number[]
}

const selectionBytes = 3
const mostPcrs = 24
const mostBanks = 16

/** A TPML_PCR_SELECTION of one bank; throws TpmFormatError for a register that does not exist. */
export function pcrSelectionBytes({ bank, pcrs }: PcrSelection): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(selectionBytes)
  for (const pcr of pcrs) {
    if (!Number.isInteger(pcr) || pcr < 0 || pcr >= mostPcrs) {
      throw new TpmFormatError(`There is no PCR ${pcr}`)
    }
    bits[pcr >> 3] = (bits[pcr >> 3] ?? 0) | (1 << (pcr & 7))
  }
  return createTpmWriter().u32(1).u16(bank).u8(selectionBytes).raw(bits).done()
}

/** Reads a TPML_PCR_SELECTION; throws TpmFormatError. */
export function readPcrSelections(reader: TpmReader): readonly PcrSelection[] {
  const count = reader.u32()
  if (count > mostBanks) throw new TpmFormatError('The quote selects too many PCR banks')
  return Array.from({ length: count }, () => {
    const bank = reader.u16()
    const bits = reader.raw(reader.u8())
    const pcrs: number[] = []
    bits.forEach((byte, index) => {
      for (let bit = 0; bit < 8; bit++) if ((byte >> bit) & 1) pcrs.push(index * 8 + bit)
    })
    return { bank, pcrs }
  })
}
