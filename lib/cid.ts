import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import * as Digest from 'multiformats/hashes/digest'
import { sha256 } from './digest.ts'

const sha256Code = 0x12

/** The content identifier of bytes as one raw IPFS block: CIDv1, sha2-256, base32. */
export async function cidOf(bytes: Uint8Array): Promise<string> {
  return CID.createV1(raw.code, Digest.create(sha256Code, await sha256(bytes))).toString()
}
