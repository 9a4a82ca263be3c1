import { z } from 'zod'
import type { TpmSocket } from './socket-transport.ts'

/** The location of a TPM. */
export type TpmPlace =
  | { readonly kind: 'own' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'socket'; readonly to: TpmSocket }

const portText = z.coerce.number().pipe(z.int().min(1).max(65_535))

/** Parses `/dev/...`, `unix:/PATH` or `swtpm:HOST:PORT`. Undefined for anything else. */
export function readTpmPlace(text: string): TpmPlace | undefined {
  if (text.startsWith('/')) return { kind: 'file', path: text }
  const path = /^unix:(\/.+)$/.exec(text)?.[1]
  if (path !== undefined) return { kind: 'socket', to: { path } }
  const [, host, digits] = /^swtpm:([^\s/]+):(\d{1,5})$/.exec(text) ?? []
  const port = portText.safeParse(digits)
  if (host === undefined || !port.success) return undefined
  return { kind: 'socket', to: { host: host.replace(/^\[(.+)\]$/, '$1'), port: port.data } }
}

/** The setting `tpm` (SVC_TPM) of the configuration. */
export const TpmSetting = z
  .string('must name a TPM, such as /dev/tpmrm0')
  .refine(
    (text) => readTpmPlace(text) !== undefined,
    'must be a device such as /dev/tpmrm0, unix:/PATH or swtpm:HOST:PORT',
  )
