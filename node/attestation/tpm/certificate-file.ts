import { readFile, stat } from 'node:fs/promises'
import { errorMessage } from '../../../lib/error-message.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { firstSequence } from './der.ts'
import type { GivenCertificates } from './endorsement.ts'

const largestFileBytes = 256 * 1024
const block = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g

/** Reads a file's certificates, in PEM or one in DER. Empty without a file. Throws SvcError `tpm-certificates-unreadable`. */
export async function readCertificateFile(path: string | undefined): Promise<GivenCertificates> {
  if (path === undefined) return []
  const bytes = await read(path)
  const text = new TextDecoder('latin1').decode(bytes)
  const blocks = [...text.matchAll(block)].map(([, base64 = '']) => Buffer.from(base64, 'base64'))
  const found = (blocks.length > 0 ? blocks : [bytes]).flatMap((der) => firstSequence(der) ?? [])
  if (found.length === Math.max(blocks.length, 1)) return found
  throw unreadable(path, 'holds no certificate in PEM or DER')
}

async function read(path: string): Promise<Uint8Array> {
  try {
    if ((await stat(path)).size > largestFileBytes) throw new Error('is too large')
    return await readFile(path)
  } catch (error) {
    throw unreadable(path, errorMessage(error), error)
  }
}

const unreadable = (path: string, why: string, cause?: unknown): SvcError =>
  new SvcError('tpm-certificates-unreadable', `${path}: ${why}`, {
    hint: 'Correct tpm_certificates (SVC_TPM_CERTIFICATES), or leave it out when the TPM holds its certificate itself.',
    cause,
  })
