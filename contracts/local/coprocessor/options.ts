import { z } from 'zod'
import { readOptions, WholeNumber } from '../../../lib/host/command-line.ts'
import { isLoopback } from '../../../lib/ip-address.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { defaultKeysFolder } from './parameters.ts'

/** The help text. */
export const usage = `Usage: local coprocessor --rpc-url URL --data FOLDER [--chain-id N] [--port N] [--host ADDRESS] [--keys FOLDER]

FOR DEVELOPMENT ONLY: it protects nothing.

  --rpc-url URL    the chain that knows who may decrypt what
  --data FOLDER    keeps the ciphertexts
  --chain-id N     the chain's id (default 420105). 31337 is that of the SDK's mock mode, which needs no coprocessor
  --port N         where to listen (default 0: any free port)
  --host ADDRESS   an address of this machine other than 127.0.0.1. One that others reach needs --i-know-it-protects-nothing
  --keys FOLDER    keeps the keys, which take a minute to make (default ~/.cache/svc-tools/cofhe-keys-..., SVC_TOOLS_DIR)
`

const mockChainId = 31_337

const Flags = z.object({
  'rpc-url': z
    .string('is missing')
    .pipe(z.url({ protocol: /^https?$/, error: 'takes an http or https URL' })),
  'chain-id': WholeNumber(1, Number.MAX_SAFE_INTEGER).default(localFheChainId),
  host: z.string().default('127.0.0.1'),
  port: WholeNumber(0, 65_535).default(0),
  data: z.string('is missing'),
  keys: z.string().optional(),
  'i-know-it-protects-nothing': z.boolean().default(false),
})

const wrong = (message: string): SvcError =>
  new SvcError('usage', message, { hint: 'Run it with --help.' })

/** The options of the local coprocessor. */
export type CoprocessorOptions = NonNullable<ReturnType<typeof parseCoprocessorOptions>>

/** Parses the command line, undefined for help. Throws SvcError `usage`. */
export const parseCoprocessorOptions = (
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
) => {
  const values = readOptions(args, Flags, wrong)
  if (values === undefined) return undefined
  const { host, port, data, keys, 'chain-id': chainId } = values
  if (
    !isLoopback(`http://${host.includes(':') ? `[${host}]` : host}`) &&
    !values['i-know-it-protects-nothing']
  ) {
    throw wrong(
      `${host} can be reached by others, whom this coprocessor keeps nothing from: use 127.0.0.1, or add --i-know-it-protects-nothing`,
    )
  }
  if (chainId === mockChainId) {
    throw wrong(`on chain ${mockChainId} the SDK is in its mock mode and asks no coprocessor`)
  }
  return {
    rpcUrl: values['rpc-url'],
    chainId,
    host,
    port,
    dataFolder: data,
    keysFolder: keys ?? defaultKeysFolder(environment),
  }
}
