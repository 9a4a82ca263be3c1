import { z } from 'zod'
import { Address, UnixSeconds } from '../../lib/codecs.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { readJson, writePrivateJson } from '../../lib/host/private-files.ts'
import { AttestationBackend } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../log.ts'
import { messages } from '../log-messages.ts'

const AttestationRecord = z.object({
  version: z.literal(1),
  address: Address,
  icl: z.string(),
  chain_id: z.int(),
  backend: AttestationBackend,
  certificate: z.string(),
  expires_at: UnixSeconds,
})

/** A node's attestation on disk. It holds no secret: each run has its own session key, in memory only. */
export type AttestationRecord = z.output<typeof AttestationRecord>

/** The wallet and the ICL of an attestation. */
export type AttestationOwner = { readonly address: Address; readonly icl: string }

const attestAgain = 'Delete the file and run `svc-node attest`.'

/** Reads the record, undefined when there is none for this wallet at this ICL. Throws SvcError `attestation-record-invalid`. */
export async function readRecord(
  path: string,
  owner: AttestationOwner,
): Promise<AttestationRecord | undefined> {
  const json = await readJson(path, attestAgain)
  if (json === undefined) return undefined
  const parsed = AttestationRecord.safeParse(json)
  if (!parsed.success) {
    throw new SvcError('attestation-record-invalid', `${path} is no attestation record`, {
      hint: attestAgain,
    })
  }
  const { address, icl } = parsed.data
  return address === owner.address && icl === owner.icl ? parsed.data : undefined
}

/** Writes a record, mode 0600. */
export const writeRecord = (path: string, record: AttestationRecord): Promise<void> =>
  writePrivateJson(path, record)

/** Writes a record that a running daemon renewed. Only logs a failure, because the ICL has the attestation already. */
export async function keepRenewed(
  path: string,
  record: AttestationRecord,
  log: Pick<Log, 'warning'>,
): Promise<void> {
  try {
    await writeRecord(path, record)
  } catch (error) {
    log.warning(messages.recordNotKept(errorText(error)))
  }
}

/** The error when a node was never attested (spec 7). */
export const notAttested = (): SvcError =>
  new SvcError('not-attested', 'no attestation found, run `svc-node attest` first', {
    hint: 'An attestation is for one wallet at one ICL.',
  })
