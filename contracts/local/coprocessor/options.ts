import { z } from 'zod'
import { flag, option, WholeNumber } from '../../../lib/host/program/option.ts'
import { isLoopback } from '../../../lib/ip-address.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'

const mockChainId = 31_337

/** The options of the local coprocessor. */
export const coprocessorOptions = z
  .object({
    rpcUrl: option(
      z.url({ protocol: /^https?$/, error: 'takes an http or https URL' }),
      'URL',
      'The chain that knows who may decrypt what',
    ),
    data: option(z.string(), 'FOLDER', 'Keeps the ciphertexts'),
    chainId: option(
      WholeNumber(1, Number.MAX_SAFE_INTEGER)
        .refine((id) => id !== mockChainId, {
          error: `cannot be ${mockChainId}: there the SDK is in its mock mode and asks no coprocessor`,
        })
        .default(localFheChainId),
      'N',
      `The chain's id. ${mockChainId} is that of the SDK's mock mode, which needs no coprocessor`,
    ),
    port: option(WholeNumber(0, 65_535).default(0), 'N', 'Where to listen. 0: any free port'),
    host: option(
      z.string().default('127.0.0.1'),
      'ADDRESS',
      'An address of this machine. One that others reach needs --i-know-it-protects-nothing',
    ),
    keys: option(
      z.string().optional(),
      'FOLDER',
      'Keeps the keys, which take a minute to make (default: ~/.cache/svc-tools/cofhe-keys-..., SVC_TOOLS_DIR)',
    ),
    iKnowItProtectsNothing: flag('Also listen where others reach it'),
  })
  .refine(({ host, iKnowItProtectsNothing }) => iKnowItProtectsNothing || isOwn(host), {
    message:
      'can be reached by others, from whom this coprocessor keeps nothing: use 127.0.0.1, or add --i-know-it-protects-nothing',
    path: ['host'],
  })
export type CoprocessorOptions = z.output<typeof coprocessorOptions>

const isOwn = (host: string): boolean =>
  isLoopback(`http://${host.includes(':') ? `[${host}]` : host}`)
