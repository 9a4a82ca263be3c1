import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Hex, toHex } from 'viem'
import { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type ConfigFile, parseConfig } from '../config.ts'
import { configPathOf, keystorePathOf } from '../config-file.ts'
import { defaultScryptN, minScryptN, writeKeystore } from '../keystore.ts'
import { askPassword } from '../password.ts'
import { fileExists, readJson, writePrivateJson } from '../private-files.ts'
import type { CommandContext } from './context.ts'

/** The flags of `svc-node init`; what is left out comes from the environment. */
export type InitFlags = {
  readonly iclEndpoint?: string
  readonly cofheEndpoint?: string
  readonly ipfsGateway?: string
  readonly models?: string
  readonly attestationBackend?: string
  readonly scryptN?: number | string
  readonly force?: boolean
  readonly json?: boolean
}

/** Creates the configuration and the wallet's keystore (spec 4); throws SvcError `already-initialised` rather than overwrite. */
export async function initialise(flags: InitFlags, context: CommandContext): Promise<void> {
  const { environment, random } = context
  const configPath = configPathOf(environment)
  const keystorePath = keystorePathOf(configPath, undefined)
  const scryptN = scryptCost(flags.scryptN)
  const file = configFileOf(flags, context)
  parseConfig(file, environment, configPath)
  const privateKey = importedKey(environment.SVC_IMPORT_PRIVATE_KEY) ?? toHex(random.bytes(32))
  if (!flags.force) await refuseOverwriting([configPath, keystorePath])
  const password = await askPassword(environment, context.terminal, true)
  const kept = await keepOldKeystore(keystorePath)
  const address = await writeKeystore(keystorePath, { privateKey, password, scryptN }, random)
  await writePrivateJson(configPath, file)
  report({ address, configPath, keystorePath, kept }, flags.json === true, context)
}

/** What goes into the file; keys and passwords stay in the environment. */
function configFileOf(flags: InitFlags, { environment }: CommandContext): ConfigFile {
  const models = flags.models ?? environment.SVC_SUPPORTED_MODEL_IDS
  const given: ConfigFile = {
    attestation_backend: flags.attestationBackend ?? 'mock',
    icl_endpoint: flags.iclEndpoint ?? environment.SVC_ICL_ENDPOINT,
    ipfs_gateway: flags.ipfsGateway ?? environment.SVC_IPFS_GATEWAY,
    cofhe_endpoint: flags.cofheEndpoint ?? environment.SVC_COFHE_ENDPOINT,
    supported_model_ids: models?.split(',').map((model) => model.trim()),
    openai_base_url: environment.SVC_OPENAI_BASE_URL,
    anthropic_base_url: environment.SVC_ANTHROPIC_BASE_URL,
  }
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== ''),
  )
}

function scryptCost(flag: number | string | undefined): number {
  if (flag === undefined) return defaultScryptN
  const n = Number(flag)
  if (Number.isInteger(n) && n >= minScryptN && n <= 4_194_304 && Number.isInteger(Math.log2(n))) {
    return n
  }
  throw new SvcError('usage', `--scrypt-n has to be a power of two of at least ${minScryptN}`, {
    hint: `Leave it out for the usual ${defaultScryptN}.`,
  })
}

function importedKey(text: string | undefined): Hex | undefined {
  if (!text) return undefined
  const parsed = z
    .string()
    .regex(/^(0x)?[0-9a-fA-F]{64}$/)
    .safeParse(text)
  if (parsed.success) return `0x${text.replace(/^0x/, '')}`
  throw new SvcError('import-key-invalid', 'SVC_IMPORT_PRIVATE_KEY is no private key', {
    hint: 'It has to be 32 bytes in hex.',
  })
}

async function refuseOverwriting(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (!(await fileExists(path))) continue
    throw new SvcError('already-initialised', `${path} exists already`, {
      hint: 'Use --force to make a new one; an old keystore is kept beside it under its address.',
    })
  }
}

/** A wallet may hold a stake: its keystore is moved, never lost. */
async function keepOldKeystore(path: string): Promise<string | undefined> {
  if (!(await fileExists(path))) return undefined
  const old = z.object({ address: z.string() }).safeParse(await readJson(path).catch(() => ({})))
  const name = old.success ? old.data.address : 'unknown'
  for (let copy = 1; ; copy++) {
    const target = join(dirname(path), `keystore-${name}${copy === 1 ? '' : `-${copy}`}.json`)
    if (await fileExists(target)) continue
    await rename(path, target)
    return target
  }
}

function report(
  made: {
    readonly address: Address
    readonly configPath: string
    readonly keystorePath: string
    readonly kept: string | undefined
  },
  asJson: boolean,
  { print }: CommandContext,
): void {
  const { address, configPath, keystorePath, kept } = made
  if (asJson) {
    const replaced = kept === undefined ? {} : { kept_keystore: kept }
    print(JSON.stringify({ address, config: configPath, keystore: keystorePath, ...replaced }))
    return
  }
  print(`Operator address: ${address}`)
  print(`Configuration:    ${configPath}`)
  print(`Keystore:         ${keystorePath}`)
  if (kept !== undefined) print(`Old keystore:     ${kept}`)
  print('')
  print('Next:')
  print('  1. Back up the keystore and its password.')
  print('  2. Send gas money to the address and register it with a stake in NodeRegistry.')
  print('  3. Set OPENAI_API_KEY or ANTHROPIC_API_KEY for your models.')
  print('  4. svc-node attest')
  print('  5. svc-node run')
}
