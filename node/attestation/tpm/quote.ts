import { concatBytes, equalBytes } from '../../../lib/digest.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { tpmAlgorithm, tpmDigest } from '../../../lib/tpm/algorithms.ts'
import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { pcrSelectionBytes, readPcrSelections } from '../../../lib/tpm/pcr-selection.ts'
import { parseQuote } from '../../../lib/tpm/quote.ts'
import type { TpmKey } from './primary-keys.ts'
import { emptyPassword, type Tpm } from './tpm-command.ts'

type Bytes = Uint8Array<ArrayBuffer>

const bank = tpmAlgorithm.sha256
const mostPcrsAtOnce = 8
const mostTries = 5

/** A quote of the TPM (TPMS_ATTEST, TPMT_SIGNATURE), and the values of its registers. */
export type QuoteOfPcrs = {
  readonly attest: Bytes
  readonly signature: Bytes
  readonly pcrs: ReadonlyMap<number, Bytes>
}

/** Makes the TPM sign SHA-256 registers and up to 32 bytes of extra data. Throws SvcError `tpm-bank-missing` or `tpm-pcrs-moving`. */
export async function quotePcrs(
  tpm: Tpm,
  key: TpmKey,
  extraData: Uint8Array,
  indices: readonly number[],
): Promise<QuoteOfPcrs> {
  const pcrs = [...indices].sort((a, b) => a - b)
  for (let tries = 0; tries < mostTries; tries++) {
    const values = await readPcrs(tpm, pcrs)
    const quoted = await quote(tpm, key, extraData, pcrs)
    // A register may have changed between the two commands.
    const hash = key.area.scheme?.hash ?? bank
    const digest = await tpmDigest(hash, concatBytes(...values.values()))
    if (equalBytes(digest, parseQuote(quoted.attest).pcrDigest)) return { ...quoted, pcrs: values }
  }
  throw new SvcError('tpm-pcrs-moving', "the TPM's registers change all the time", {
    hint: 'Try again once the machine has finished starting.',
    retryable: true,
  })
}

async function quote(tpm: Tpm, key: TpmKey, extraData: Uint8Array, pcrs: readonly number[]) {
  const { parameters } = await tpm.send({
    name: 'Quote',
    handles: [key.handle],
    authorizations: [emptyPassword],
    parameters: createTpmWriter()
      .sized(extraData)
      .u16(tpmAlgorithm.none)
      .raw(pcrSelectionBytes({ bank, pcrs }))
      .done(),
  })
  return { attest: parameters.sized(1_024), signature: parameters.raw(parameters.left()) }
}

/** Reads registers of the SHA-256 bank, in ascending order. Throws SvcError `tpm-bank-missing`. */
export async function readPcrs(
  tpm: Tpm,
  indices: readonly number[],
): Promise<ReadonlyMap<number, Bytes>> {
  const values = new Map<number, Bytes>()
  for (let start = 0; start < indices.length; start += mostPcrsAtOnce) {
    const part = indices.slice(start, start + mostPcrsAtOnce)
    const asked = pcrSelectionBytes({ bank, pcrs: part })
    const { parameters } = await tpm.send({ name: 'PCR_Read', parameters: asked })
    // Skips the count of changes. Other users of the TPM change registers, too.
    parameters.u32()
    const given = readPcrSelections(parameters).find((selection) => selection.bank === bank)
    const count = parameters.u32()
    if (count !== part.length || !part.every((pcr) => given?.pcrs.includes(pcr)))
      throw bankMissing()
    for (const pcr of part) values.set(pcr, parameters.sized(32))
  }
  return values
}

const bankMissing = (): SvcError =>
  new SvcError('tpm-bank-missing', 'the TPM keeps no SHA-256 registers', {
    hint: 'Turn the SHA-256 PCR bank on in the firmware set-up, or with `tpm2_pcrallocate sha256:all` and a restart.',
  })
