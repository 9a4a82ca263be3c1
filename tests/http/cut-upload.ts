import { utf8 } from '../../lib/digest.ts'
import { type RequestSigner, signedHeaders } from '../../lib/request-signature.ts'
import { systemRandom } from '../../lib/system.ts'
import { walletOf } from '../icl/test-icl.ts'

const [begin, rest] = ['abc', 'defghi']

/** What is left of an upload that was cut. */
export const restOfUpload = rest

/** The headers of an upload that is signed, by a wallet unless another signer is named; `created` in Unix seconds. */
export const signedUpload = (
  origin: string,
  created: number,
  signer: RequestSigner = walletOf('client').signer,
): Promise<Headers> =>
  signedHeaders(
    {
      method: 'POST',
      url: new URL('/v1/blobs', origin),
      headers: new Headers(),
      body: utf8(begin + rest),
    },
    signer,
    { created, nonce: systemRandom.bytes(16) },
  )

/** An upload whose body has not come to its end. */
export const cutUpload = (headers: Headers): string =>
  [
    ...['POST /v1/blobs HTTP/1.1', 'host: icl.test', 'connection: close'],
    `content-length: ${begin.length + rest.length}`,
    ...[...headers].map((header) => header.join(': ')),
    ...['', begin],
  ].join('\r\n')
