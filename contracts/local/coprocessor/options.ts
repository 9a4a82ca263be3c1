import { parseArgs } from 'node:util'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { defaultKeysFolder } from './parameters.ts'

/** How the local coprocessor is started. */
export const usage = `Usage: local coprocessor --rpc-url URL --data FOLDER [--chain-id N] [--port N] [--host ADDRESS] [--keys FOLDER]

FOR DEVELOPMENT ONLY: it protects nothing.

  --rpc-url URL    the chain that knows who may decrypt what
  --data FOLDER    keeps the ciphertexts
  --chain-id N     the chain's id (default 420105). 31337 is that of the SDK's mock mode, which needs no coprocessor
  --port N         where to listen (default 0: any free port)
  --host ADDRESS   an address of this machine other than 127.0.0.1. One that others reach needs --i-know-it-protects-nothing
  --keys FOLDER    keeps the keys, which take a minute to make (default ~/.cache/svc-tools/cofhe-keys-..., SVC_TOOLS_DIR)
`

/** What the local coprocessor was asked for. */
export type CoprocessorOptions = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  readonly keysFolder: string
}

const mockChainId = 31_337
const maxPort = 65_535

/** The command line asks for something that cannot be. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)

const numberOf = (name: string, text: string, least: number, most: number): number => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new UsageError(`--${name} takes a number from ${least} to ${most}`)
}

const rpcUrlOf = (text: string | undefined): string => {
  if (text === undefined) throw new UsageError('--rpc-url is missing')
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new UsageError('--rpc-url takes an http or https URL')
}

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'rpc-url': { type: 'string' },
        'chain-id': { type: 'string', default: String(localFheChainId) },
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '0' },
        data: { type: 'string' },
        keys: { type: 'string' },
        'i-know-it-protects-nothing': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('\n')[0] ?? '') : '')
  }
}

/** Reads the command line; undefined when only help is asked for; throws UsageError. */
export const parseCoprocessorOptions = (
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): CoprocessorOptions | undefined => {
  const values = parse(args)
  if (values.help) return undefined
  const { host, data, keys } = values
  if (data === undefined) throw new UsageError('--data is missing')
  if (!isLoopback(host) && !values['i-know-it-protects-nothing']) {
    throw new UsageError(
      `${host} can be reached by others, whom this coprocessor keeps nothing from: use 127.0.0.1, or add --i-know-it-protects-nothing`,
    )
  }
  const chainId = numberOf('chain-id', values['chain-id'], 1, Number.MAX_SAFE_INTEGER)
  if (chainId === mockChainId) {
    throw new UsageError(
      `on chain ${mockChainId} the SDK is in its mock mode and asks no coprocessor`,
    )
  }
  return {
    rpcUrl: rpcUrlOf(values['rpc-url']),
    chainId,
    host,
    port: numberOf('port', values.port, 0, maxPort),
    dataFolder: data,
    keysFolder: keys ?? defaultKeysFolder(environment),
  }
}
