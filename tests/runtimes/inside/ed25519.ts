import { SessionPublicKey } from '../../../lib/codecs.ts'
import { fromBase64Url, utf8 } from '../../../lib/digest.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import { isStrongKey } from '../../../lib/strong-key.ts'
import { type Case, check } from './case.ts'
import { constantSignature, signatureVectors, weakKeys } from './ed25519-vectors.ts'

const messages = Array.from({ length: 16 }, (_, index) => utf8(`message ${index}`))

/** Keys and signatures on which implementations of Ed25519 disagree. */
export const ed25519Cases: readonly Case[] = [
  ...Object.entries(weakKeys).map(([what, key]) => ({
    name: `an Ed25519 key is refused and has signed nothing: ${what}`,
    run: async () => {
      check(!isStrongKey(fromBase64Url(key)), 'it is taken for strong')
      check(!SessionPublicKey.safeParse(key).success, 'the schema lets it pass')
      for (const message of messages) {
        check(!(await verifySignature(key, constantSignature, message)), 'it has signed')
      }
    },
  })),
  ...signatureVectors.map(({ what, key, message, signature, holds }) => ({
    name: `an Ed25519 signature ${holds ? 'holds' : 'is refused'}: ${what}`,
    run: async () => {
      check(SessionPublicKey.safeParse(key).success, 'the schema refuses the key')
      const got = await verifySignature(key, signature, utf8(message))
      check(got === holds, got ? 'it holds' : 'it is refused')
    },
  })),
]
