import { isForDevelopment } from '../../lib/development.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import type { ConfigFile } from '../config.ts'
import { askAddress, mistakeIn, tried } from './ask-address.ts'
import { askModels, type Servers } from './ask-models.ts'
import { type CommandContext, warnOf } from './context.ts'
import { lookForTpm } from './look-for-tpm.ts'
import type { Prompts } from './prompts.ts'
import { networkOf, rpcName, withTimeout } from './reach.ts'

/** The parts of a configuration, as typed, by their fields. A missing one is asked for or has a default. */
export type Answers = Partial<Record<keyof ConfigFile, string>> & {
  /** The servers of models that are not from built-in providers. */
  readonly providers?: Servers | undefined
}

const minPasswordLetters = 8

/** Returns what is wrong with the password of a new keystore. */
export const passwordMistake = (password: string): string | undefined =>
  password.length < minPasswordLetters ? `at least ${minPasswordLetters} characters` : undefined

/** Asks for the missing parts, and tries each out at once. */
export async function askForConfig(
  prompts: Prompts,
  given: Answers,
  context: CommandContext,
): Promise<Answers> {
  const { icl_endpoint, network } = await askIcl(prompts, given.icl_endpoint, context)
  const cofhe_endpoint = await askRpc(prompts, given.cofhe_endpoint, network, context)
  const attestation_backend =
    given.attestation_backend ?? (await askBackend(prompts, network, given.tpm, context))
  const asked = given.supported_model_ids ? {} : await askModels(prompts, context)
  const allowed = await askAllowance(prompts, { ...given, icl_endpoint }, network)
  return { ...given, icl_endpoint, cofhe_endpoint, attestation_backend, ...asked, ...allowed }
}

/** Asks how much `run` may pay to register. An ICL for development needs no answer. */
async function askAllowance(
  prompts: Prompts,
  { icl_endpoint, register_up_to, node_registry }: Answers & { readonly icl_endpoint: string },
  network: Network | undefined,
): Promise<Answers> {
  if (register_up_to !== undefined || network === undefined) return {}
  if (isForDevelopment(icl_endpoint, network.chain_id)) return {}
  const typed = await prompts.text({
    message: 'Ether that `svc-node run` may pay to register by itself, for stake and gas',
    otherwise: '0',
    check: (text) => mistakeIn({ register_up_to: text }),
  })
  if (Number(typed) === 0) return {}
  return { register_up_to: typed, node_registry: node_registry ?? network.contracts.node_registry }
}

/** Asks for a new password, twice. */
export async function askNewPassword(prompts: Prompts): Promise<string> {
  for (;;) {
    const password = await prompts.password({
      message: 'A password for the keystore of the new wallet',
      check: passwordMistake,
    })
    if ((await prompts.password({ message: 'The same again' })) === password) return password
    prompts.complain('The two differ.')
  }
}

async function askIcl(
  prompts: Prompts,
  given: string | undefined,
  context: CommandContext,
): Promise<{ readonly icl_endpoint: string; readonly network: Network | undefined }> {
  const question = {
    message: 'Address of the ICL',
    placeholder: 'https://icl.example',
    field: 'icl_endpoint',
    given,
  }
  const { address, result } = await askAddress(prompts, question, (icl) =>
    tried(prompts, `Asking the ICL at ${icl}`, (signal) => networkOf(icl, context, signal)),
  )
  if (result !== undefined) prompts.say(...networkLines(result))
  return { icl_endpoint: address, network: result }
}

const networkLines = (network: Network): readonly string[] => [
  `Chain ${network.chain_id}, ICL version ${network.version}`,
  `NodeRegistry ${network.contracts.node_registry}`,
  `Attestation: ${network.attestation_backends.join(', ') || 'none is accepted now'}`,
]

async function askRpc(
  prompts: Prompts,
  given: string | undefined,
  network: Network | undefined,
  context: CommandContext,
): Promise<string> {
  const question = {
    message: 'Address of a chain RPC',
    placeholder: 'http://127.0.0.1:8545',
    field: 'cofhe_endpoint',
    given,
  }
  const { address } = await askAddress(prompts, question, async (rpcUrl) => {
    // Only the ICL knows which chain it must be.
    if (network === undefined) return true
    const endpoint = { rpcUrl, chainId: network.chain_id }
    const name = rpcName(rpcUrl)
    return await tried(prompts, `Asking ${name}`, (stop) =>
      withTimeout(
        context,
        name,
        (signal) => checkEndpoint(endpoint, signal, warnOf(context)),
        stop,
      ),
    )
  })
  return address
}

const mockHint =
  "for development, tier 0 only. It takes a key, which the ICL's operator gives out, or an ICL of chain 31337 on this machine"

async function askBackend(
  prompts: Prompts,
  network: Network | undefined,
  tpm: string | undefined,
  context: CommandContext,
): Promise<string> {
  const backends = network?.attestation_backends ?? []
  const [only] = backends
  if (backends.length === 1 && only !== undefined) {
    if (only === 'mock') prompts.say(`It attests by mock: ${mockHint}`)
    return only
  }
  const { text, json } = await prompts.wait('Looking for a TPM', (signal) =>
    lookForTpm({ config: { tpm }, configPath: '' }, context, signal),
  )
  const tpmChoice = { value: 'tpm', label: 'tpm', hint: text }
  const mockChoice = { value: 'mock', label: 'mock', hint: mockHint }
  const isFound = 'device' in json
  return await prompts.select(
    'How does this machine attest?',
    isFound ? [tpmChoice, mockChoice] : [mockChoice, tpmChoice],
  )
}
