import { unixSeconds } from '../../lib/clock.ts'
import { fileExists, writePrivateJson } from '../../lib/host/private-files.ts'
import { AttestationBackend } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { attest } from '../attestation/attest.ts'
import { createAttestor, tpmOptionsOf } from '../attestation/attestor.ts'
import type { AttestationStep } from '../attestation/proof.ts'
import { writeRecord } from '../attestation/record.ts'
import { newSessionKey } from '../attestation/session.ts'
import { stepText } from '../attestation/step-text.ts'
import { type Config, type ConfigFile, parseConfig } from '../config.ts'
import { configPathOf, type LoadedConfig, loadConfig, readConfigFile } from '../config-file.ts'
import { lockPathOf, takeLock } from '../journal/lock.ts'
import { openWallet, type Wallet, walletApi } from '../wallet.ts'
import { durationText } from './amounts.ts'
import { mistakeIn } from './ask-address.ts'
import { type CommandContext, isInteractive } from './context.ts'
import { createPrompts, type Prompts } from './prompts.ts'
import { ownNetworkOf } from './reach.ts'

/** The flags of `svc-node attest`. */
export type AttestFlags = {
  readonly mock?: boolean
  readonly backend?: string
  readonly yes?: boolean
  readonly json?: boolean
}

/**
 * Attests the node with the ICL and writes the record that `run` needs (spec 4). Asks for missing settings on a terminal. Throws SvcError
 * `already-running` while the daemon runs, because a new attestation would end its run.
 */
export async function attestOnce(flags: AttestFlags, context: CommandContext): Promise<undefined> {
  const { environment, terminal } = context
  const prompts = isInteractive(context, flags) ? await createPrompts(terminal) : undefined
  if (prompts && !(await fileExists(configPathOf(environment)))) {
    prompts.say('There is no configuration yet: `svc-node init` comes first.')
    await (await import('./init.ts')).initialise({}, context)
  }
  const loaded = await loadConfig(environment)
  const { config } = loaded
  const backend = backendOf(flags) ?? config.attestation_backend
  const needsKey = backend === 'mock' && config.mock_attestation_key === undefined
  const typedKey = needsKey && prompts ? await askMockKey(prompts) : undefined
  const mockKey = typedKey ?? config.mock_attestation_key
  const attestor = createAttestor(backend, {
    mockKeyHex: mockKey,
    ...(backend === 'tpm' && { tpm: tpmOptionsOf(loaded, context) }),
  })
  const wallet = await openWallet(loaded, context)
  const note = (step: AttestationStep) => {
    if (backend === 'tpm' && !flags.json) context.print(stepText(step))
  }
  const unlock = await takeLock(lockPathOf(loaded.configPath))
  try {
    const made = await attestWallet({ loaded, backend, attestor, wallet, note }, context)
    // Only after the attestation: a key that the ICL refuses must not be kept.
    if (prompts && typedKey !== undefined) await offerToKeep(prompts, typedKey, loaded)
    report(made, flags, context)
  } finally {
    unlock()
  }
}

/** Returns the backend that the flags name. Throws SvcError `usage`. */
function backendOf({ mock, backend }: AttestFlags): AttestationBackend | undefined {
  const named = mock ? 'mock' : backend
  if (named === undefined) return undefined
  const parsed = AttestationBackend.safeParse(named)
  if (parsed.success && (backend === undefined || backend === named)) return parsed.data
  throw new SvcError('usage', '--backend has to be mock or tpm, and --mock goes with mock only', {
    hint: 'Leave both out for the configured attestation_backend.',
  })
}

const keyField = 'mock_attestation_key'

async function askMockKey(prompts: Prompts): Promise<string> {
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

type Made = Wallet & {
  readonly icl: string
  readonly backend: Config['attestation_backend']
  readonly expiresAt: number
}

async function attestWallet(
  what: {
    readonly loaded: LoadedConfig
    readonly backend: AttestationBackend
    readonly attestor: ReturnType<typeof createAttestor>
    readonly wallet: Wallet
    readonly note: (step: AttestationStep) => void
  },
  context: CommandContext,
): Promise<Made> {
  const { clock, random } = context
  const { loaded, backend, attestor, wallet, note } = what
  const { address, account } = wallet
  const { attestationPath } = loaded
  const network = await ownNetworkOf(loaded.config, context)
  const icl = new URL(network.public_url).origin
  const chainId = network.chain_id
  const attested = await attest({
    api: walletApi(context, wallet, { icl, chainId }),
    account,
    address,
    icl,
    chainId,
    sessionKey: await newSessionKey(random),
    attestor,
    clock,
    note,
  })
  await writeRecord(attestationPath, {
    version: 1,
    address,
    icl,
    chain_id: chainId,
    backend,
    certificate: attested.certificate,
    expires_at: attested.expiresAt,
  })
  return { ...wallet, icl, backend, expiresAt: attested.expiresAt }
}

function report(
  { address, icl, backend, expiresAt }: Made,
  { json }: AttestFlags,
  { print, clock }: CommandContext,
): void {
  if (json) {
    print(JSON.stringify({ address, icl, backend, expires_at: expiresAt }))
    return
  }
  const seconds = expiresAt - unixSeconds(clock)
  print(
    `Attested ${address} with ${icl} (${backend}). The certificate is valid for ${seconds} s (${durationText(seconds)}).`,
  )
  print('Next: svc-node run')
}
