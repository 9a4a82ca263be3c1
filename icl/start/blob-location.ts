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

/** Where blobs are stored: `store`, or `kubo:RPC_URL[,GATEWAY_URL]`. The output is undefined for the store. */
export const BlobLocation = z
  .string()
  .regex(/^(store|kubo:[^,]+(,[^,]+)?)$/, {
    error: 'must be store or kubo:RPC_URL[,GATEWAY_URL]',
    abort: true,
  })
  .transform((text) => (text === 'store' ? undefined : text.slice('kubo:'.length).split(',')))
  .pipe(z.tuple([KuboUrl], GatewayUrl).optional())
  .transform((urls) => urls && { rpcUrl: urls[0], gatewayUrl: urls[1] })

/** The value of the Authorization header for Kubo. */
export const KuboAuthorization = z
  .string()
  .max(4_096)
  .regex(/^[\x21-\x7e]+ [\x21-\x7e]+$/, 'must be such as Basic ... or Bearer ...')
