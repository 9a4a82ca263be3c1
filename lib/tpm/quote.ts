import { createTpmReader, TpmFormatError } from './bytes.ts'
import { type PcrSelection, readPcrSelections } from './pcr-selection.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A TPM's quote (TPMS_ATTEST of type TPM_ST_ATTEST_QUOTE). */
export type Quote = {
  readonly qualifiedSigner: Bytes
  /** The caller's data that the TPM signed too. */
  readonly extraData: Bytes
  /** Milliseconds that the TPM was powered. May go back after an unclean stop. */
  readonly clock: bigint
  /** Grows with every start of the machine. */
  readonly resetCount: number
  /** Grows with every resume of the machine. */
  readonly restartCount: number
  /** False when the clock may have gone back. */
  readonly safe: boolean
  readonly firmwareVersion: bigint
  readonly selections: readonly PcrSelection[]
  readonly pcrDigest: Bytes
}

const attestMagic = 0xff544347
const quoteType = 0x8018

/** The wrong part of a structure that is not a quote. */
export type NoQuote = 'magic' | 'type'

/** Thrown for a signed structure that is complete but not a quote. */
export class NotAQuoteError extends TpmFormatError {
  readonly part: NoQuote
  constructor(part: NoQuote, message: string) {
    super(message)
    this.part = part
  }
}

/** Parses a TPMS_ATTEST; throws NotAQuoteError when no TPM made it or it is no quote, and TpmFormatError for other bytes. */
export function parseQuote(attest: Uint8Array): Quote {
  const reader = createTpmReader(attest)
  if (reader.u32() !== attestMagic) {
    throw new NotAQuoteError('magic', 'The signed structure was not made by a TPM (magic)')
  }
  if (reader.u16() !== quoteType) {
    throw new NotAQuoteError('type', 'The signed structure is not a quote (type)')
  }
  const quote = {
    qualifiedSigner: reader.sized(128),
    extraData: reader.sized(128),
    clock: reader.u64(),
    resetCount: reader.u32(),
    restartCount: reader.u32(),
    safe: reader.u8() === 1,
    firmwareVersion: reader.u64(),
    selections: readPcrSelections(reader),
    pcrDigest: reader.sized(64),
  }
  reader.end()
  return quote
}
