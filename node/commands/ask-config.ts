import type { Network } from '../../lib/schemas/network.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import { parseConfig } from '../config.ts'
import { explainError } from '../explain-error.ts'
import { keyVariables } from '../inference/provider-call.ts'
import type { CommandContext } from './context.ts'
import { lookForTpm } from './look-for-tpm.ts'
import type { Prompts } from './prompts.ts'
import { networkOf, rpcName, withTimeout } from './reach.ts'

/** What a configuration is made of, as typed; what is left out is asked for or has a default. */
export type Answers = {
  readonly icl: string | undefined
  readonly rpc: string | undefined
  readonly coprocessor: string | undefined
  readonly gateway: string | undefined
  readonly models: string | undefined
  readonly backend: string | undefined
  readonly tpm: string | undefined
}

const minPasswordLetters = 8

/** What is wrong with the password of a new keystore. */
export const passwordMistake = (password: string): string | undefined =>
  password.length < minPasswordLetters ? `at least ${minPasswordLetters} characters` : undefined

/** Asks for what is missing and tries it out at once. */
export async function askForConfig(
  prompts: Prompts,
  given: Answers,
  context: CommandContext,
): Promise<Answers> {
  const { icl, network } = await askIcl(prompts, given.icl, context)
  const rpc = await askRpc(prompts, given.rpc, network, context)
  const backend = given.backend ?? (await askBackend(prompts, network, given.tpm, context))
  const models = given.models ?? (await askModels(prompts, context))
  return { ...given, icl, rpc, backend, models }
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

/** What is wrong with one field, in the words of the configuration. */
export const mistakeIn = (field: string, value: unknown): string | undefined => {
  try {
    const rest = {
      attestation_backend: 'mock',
      icl_endpoint: 'http://localhost',
      cofhe_endpoint: 'http://localhost',
      supported_model_ids: ['openai:x'],
    }
    parseConfig({ ...rest, [field]: value }, {}, '')
    return undefined
  } catch (error) {
    const { message } = explainError(error)
    return (
      message
        .split('\n')
        .at(1)
        ?.replace(/^ *- [^:]*: /, '') ?? message
    )
  }
}

/** Asks until an address works, or is wanted all the same. */
async function askAddress<T>(
  prompts: Prompts,
  question: {
    readonly message: string
    readonly placeholder: string
    readonly field: string
    /** Tried out first, without asking. */
    readonly given: string | undefined
  },
  tryOut: (address: string) => Promise<T | undefined>,
): Promise<{ readonly address: string; readonly result: T | undefined }> {
  const { message, placeholder, field } = question
  const check = (text: string) => mistakeIn(field, text)
  let initial: string | undefined
  for (let next = question.given; ; next = undefined) {
    const address = next ?? (await prompts.text({ message, placeholder, initial, check }))
    initial = address
    const mistake = check(address)
    if (mistake !== undefined) {
      prompts.complain(`${address}: ${mistake}`)
      continue
    }
    const result = await tryOut(address)
    if (result !== undefined) return { address, result }
    if (await prompts.confirm('Use this address all the same?', false)) return { address, result }
  }
}

async function askIcl(
  prompts: Prompts,
  given: string | undefined,
  context: CommandContext,
): Promise<{ readonly icl: string; readonly network: Network | undefined }> {
  const question = {
    message: 'Address of the ICL',
    placeholder: 'https://icl.example',
    field: 'icl_endpoint',
    given,
  }
  const { address, result } = await askAddress(prompts, question, (icl) =>
    tried(prompts, `Asking the ICL at ${icl}`, (signal) => networkOf(icl, context, signal)),
  )
  if (result !== undefined) prompts.say(networkText(result))
  return { icl: address, network: result }
}

const networkText = (network: Network): string =>
  [
    `Chain ${network.chain_id}, ICL version ${network.version}`,
    `NodeRegistry ${network.contracts.node_registry}`,
    `Attestation: ${network.attestation_backends.join(', ') || 'none is accepted now'}`,
  ].join('\n')

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
    // Without the ICL nobody knows which chain it should be.
    if (network === undefined) return true
    const endpoint = { rpcUrl, chainId: network.chain_id }
    const name = rpcName(rpcUrl)
    return await tried(prompts, `Asking ${name}`, (stop) =>
      withTimeout(context, name, (signal) => checkEndpoint(endpoint, signal), stop),
    )
  })
  return address
}

/** Tries something out; what goes wrong is told, except for Ctrl-C. */
async function tried<T>(
  prompts: Prompts,
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  let stop: AbortSignal | undefined
  try {
    return await prompts.wait(message, (signal) => {
      stop = signal
      return work(signal)
    })
  } catch (error) {
    stop?.throwIfAborted()
    const { message: why, hint } = explainError(error)
    prompts.complain(hint === undefined ? why : `${why}\n${hint}`)
    return undefined
  }
}

async function askBackend(
  prompts: Prompts,
  network: Network | undefined,
  tpm: string | undefined,
  context: CommandContext,
): Promise<string> {
  const backends = network?.attestation_backends ?? []
  const [only] = backends
  if (backends.length === 1 && only !== undefined) return only
  const { text, json } = await prompts.wait('Looking for a TPM', (signal) =>
    lookForTpm({ config: { tpm }, configPath: '' }, context, signal),
  )
  const tpmChoice = { value: 'tpm', label: 'tpm', hint: text }
  const mockChoice = { value: 'mock', label: 'mock', hint: 'an HMAC, for development; tier 0 only' }
  const isFound = 'device' in json
  return await prompts.select(
    'How does this machine attest?',
    isFound ? [tpmChoice, mockChoice] : [mockChoice, tpmChoice],
  )
}

const askModels = (prompts: Prompts, { environment }: CommandContext): Promise<string> => {
  const keys = Object.values(keyVariables).map(
    (name) => `${name} is ${environment[name] ? 'set' : 'not set'}`,
  )
  return prompts.text({
    message: `Models to serve, comma separated (${keys.join(', ')})`,
    placeholder: 'openai:gpt-4.1-mini',
    check: (text) => mistakeIn('supported_model_ids', text),
  })
}
