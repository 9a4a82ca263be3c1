import { unixSeconds } from '../../lib/clock.ts'
import { fileExists, writePrivateJson } from '../../lib/host/private-files.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'
import { type AttestOptions, attest } from '../attestation/attest.ts'
import { createAttestor, tpmOptionsOf } from '../attestation/attestor.ts'
import { askMockKey } from '../attestation/mock-key.ts'
import type { AttestationStep, Attestor } from '../attestation/proof.ts'
import { type AttestationRecord, writeRecord } from '../attestation/record.ts'
import { newSigner } from '../attestation/session.ts'
import { stepText } from '../attestation/step-text.ts'
import { type ConfigFile, parseConfig } from '../config.ts'
import { configPathOf, type LoadedConfig, loadConfig, readConfigFile } from '../config-file.ts'
import { locked, lockPathOf } from '../journal/lock.ts'
import { openWallet, type Wallet, walletApi } from '../wallet.ts'
import { durationText } from './amounts.ts'
import { mistakeIn } from './ask-address.ts'
import { type CommandContext, isInteractive, warnOf } from './context.ts'
import { type Given, options } from './options.ts'
import { createPrompts, type Prompts } from './prompts.ts'
import { ownNetworkOf } from './reach.ts'

/**
 * Attests the node with the ICL and writes the record that `run` needs (spec 4). Asks for missing settings on a terminal. Throws SvcError
 * `already-running` while the daemon runs, because a new attestation would end its run.
 */
export async function attestOnce(
  flags: Given<'attest'>,
  context: CommandContext,
): Promise<undefined> {
  const { environment, terminal } = context
  const prompts = isInteractive(context, flags) ? await createPrompts(terminal) : undefined
  if (prompts && !(await fileExists(configPathOf(environment)))) {
    prompts.say('There is no configuration yet: `svc-node init` comes first.')
    await (await import('./init.ts')).initialise(options.init.parse({}), context)
  }
  const loaded = await loadConfig(environment, warnOf(context))
  const { config } = loaded
  const backend = (flags.mock ? 'mock' : flags.backend) ?? config.attestation_backend
  const note = (step: AttestationStep) => {
    if (backend === 'tpm' && !flags.json) context.print(stepText(step))
  }
  await locked(lockPathOf(loaded.configPath), async () => {
    const { public_url, chain_id: chainId } = await ownNetworkOf(config, context)
    const icl = new URL(public_url).origin
    const knownKey = await mockKeyOf(backend, config, { icl, chainId }, context)
    const needsKey = backend === 'mock' && knownKey === undefined
    const typedKey = needsKey && prompts ? await typeMockKey(prompts) : undefined
    const attestor = attestorOf(backend, loaded, context, typedKey ?? knownKey)
    const wallet = await openWallet(loaded, context)
    const signer = await newSigner(wallet.address, context.random)
    const made = await attestWallet({ attestor, wallet, icl, chainId, signer, note }, context)
    await writeRecord(loaded.attestationPath, made)
    report(made, flags, context)
    // Only after the attestation: a key that the ICL refuses must not be kept.
    if (prompts && typedKey !== undefined) await offerToKeep(prompts, typedKey, loaded)
  })
}

/** The key for attestation by mock: the configured one, else that of an ICL for development on this machine. Throws SvcErrors. */
const mockKeyOf = async (
  backend: AttestationBackend,
  { mock_attestation_key: configured }: LoadedConfig['config'],
  place: { readonly icl: string; readonly chainId: number },
  context: CommandContext,
  signal?: AbortSignal,
): Promise<string | undefined> =>
  backend === 'mock' ? (configured ?? (await askMockKey(place, context, signal))) : undefined

/** Makes the attestor of a backend with this key and the configured devices. Throws SvcErrors. */
const attestorOf = (
  backend: AttestationBackend,
  loaded: LoadedConfig,
  context: CommandContext,
  mockKeyHex: string | undefined,
): Attestor =>
  createAttestor(backend, {
    mockKeyHex,
    ...(backend === 'tpm' && { tpm: tpmOptionsOf(loaded, context) }),
  })

/** Attests the wallet with its ICL. Returns the record, which the caller writes. */
async function attestWallet(
  what: Pick<AttestOptions, 'attestor' | 'icl' | 'chainId' | 'signer' | 'signal' | 'note'> & {
    readonly wallet: Wallet
  },
  context: CommandContext,
): Promise<AttestationRecord> {
  const { wallet, icl, chainId } = what
  const { address } = wallet
  const api = walletApi(context, wallet, { icl, chainId })
  const made = await attest({ ...what, ...wallet, api, clock: context.clock })
  return {
    version: 1,
    ...{ address, icl, chain_id: chainId, backend: what.attestor.backend },
    certificate: made.certificate,
    expires_at: made.expiresAt,
  }
}

/** Attests the session key of a run of the daemon. Returns the record, which the caller writes. */
export async function attestRun(
  backend: AttestationBackend,
  run: Omit<Parameters<typeof attestWallet>[0], 'attestor'>,
  loaded: LoadedConfig,
  context: CommandContext,
): Promise<AttestationRecord> {
  const mockKey = await mockKeyOf(backend, loaded.config, run, context, run.signal)
  return await attestWallet(
    { ...run, attestor: attestorOf(backend, loaded, context, mockKey) },
    context,
  )
}

const keyField = 'mock_attestation_key'

async function typeMockKey(prompts: Prompts): Promise<string> {
  const typed = await prompts.password({
    message: "The mock attestation key that the ICL's operator gave out",
    check: (text) => mistakeIn({ [keyField]: text }),
  })
  return typed.replace(/^0x/, '').toLowerCase()
}

async function offerToKeep(
  prompts: Prompts,
  key: string,
  { configPath }: LoadedConfig,
): Promise<void> {
  const question = `Keep the key in ${configPath} (mode 0600)? The daemon needs it too, there or as SVC_MOCK_ATTESTATION_KEY.`
  if (!(await prompts.confirm(question))) return
  const file = {
    ...Object(await readConfigFile(configPath)),
    [keyField]: key,
  } satisfies ConfigFile
  parseConfig(file, {}, configPath)
  await writePrivateJson(configPath, file)
}

function report(
  { address, icl, backend, expires_at }: AttestationRecord,
  { json }: Given<'attest'>,
  { print, clock }: CommandContext,
): void {
  if (json) {
    print(JSON.stringify({ address, icl, backend, expires_at }))
    return
  }
  const seconds = expires_at - unixSeconds(clock)
  print(
    `Attested ${address} with ${icl} (${backend}). The certificate is valid for ${seconds} s (${durationText(seconds)}).`,
  )
  print('Next: svc-node run')
}
