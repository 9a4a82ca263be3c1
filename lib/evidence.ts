import { hexToBytes } from 'viem'
import type { JobId } from './codecs.ts'
import { hkdfSha256, hmacSha256, toBase64Url, utf8 } from './digest.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The key of a job's evidence, made from the prompt key: neither the ICL nor an outsider can guess outputs from evidence. */
export const evidenceKey = (promptKey: Bytes, jobId: JobId): Promise<Bytes> =>
  hkdfSha256(promptKey, hexToBytes(jobId), 'svc-fingerprint-v1', 32)

/** The text that is compared: NFC, line feeds only, no white space before a line's end or the text's. */
export const normalise = (text: string): string =>
  text
    .normalize('NFC')
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()

/** Words of a normalised text. */
export const countTokens = (normalised: string): number =>
  normalised === '' ? 0 : normalised.split(/\s+/u).filter((word) => word !== '').length

/** HMAC-SHA256 of a normalised text in base64url. */
export const digestOf = async (key: Bytes, normalised: string): Promise<string> =>
  toBase64Url(await hmacSha256(key, utf8(normalised)))
