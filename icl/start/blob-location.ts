import { z } from 'zod'

const KuboUrl = z
  .url({ protocol: /^https?$/, error: 'must name http or https URLs', abort: true })
  .refine((url) => {
    const { username, password, search, hash } = new URL(url)
    return username + password + search + hash === ''
  }, 'must name URLs without a password, search or fragment')
  .transform((url) => url.replace(/\/+$/, ''))

// At `localhost` Kubo redirects to another name for each block, and the ICL follows no redirects.
const GatewayUrl = KuboUrl.refine(
  (url) => !/(^|\.)localhost$/.test(new URL(url).hostname),
  'must name the gateway as 127.0.0.1: at localhost, Kubo sends its callers elsewhere',
)

/** Where blobs are stored: `auto`, `store`, or `kubo:RPC_URL[,GATEWAY_URL]`, whose output is the URLs. */
export const BlobLocation = z
  .string()
  .regex(/^(auto|store|kubo:[^,]+(,[^,]+)?)$/, {
    error: 'must be auto, store or kubo:RPC_URL[,GATEWAY_URL]',
    abort: true,
  })
  .transform((text) =>
    text.startsWith('kubo:')
      ? { place: 'kubo' as const, urls: text.slice('kubo:'.length).split(',') }
      : { place: text as 'auto' | 'store' },
  )
  .pipe(
    z.discriminatedUnion('place', [
      z.object({ place: z.enum(['auto', 'store']) }),
      z.object({ place: z.literal('kubo'), urls: z.tuple([KuboUrl], GatewayUrl) }),
    ]),
  )
  .transform((one) =>
    one.place === 'kubo' ? { rpcUrl: one.urls[0], gatewayUrl: one.urls[1] } : one.place,
  )

/** The value of the Authorization header for Kubo. */
export const KuboAuthorization = z
  .string()
  .max(4_096)
  .regex(/^[\x21-\x7e]+ [\x21-\x7e]+$/, 'must be such as Basic ... or Bearer ...')
