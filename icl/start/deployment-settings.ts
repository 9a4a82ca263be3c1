import { parseDeployment } from '../../lib/deployment.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { Deployment } from '../../lib/schemas/deployment.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Reads the text that a setting names. Throws when there is none. */
export type ReadText = (name: string) => string

type Given = Readonly<Record<string, string | undefined>>

const setting = 'SVC_ICL_DEPLOYMENT'

const stated = ({ chain_id, contracts }: Deployment): Readonly<Record<string, string>> => ({
  SVC_ICL_CHAIN_ID: String(chain_id),
  SVC_ICL_NODE_REGISTRY: contracts.node_registry,
  SVC_ICL_PROMPT_KEY_STORE: contracts.prompt_key_store,
  SVC_ICL_RESULT_REGISTRY: contracts.result_registry,
})

// Explicit settings override these URLs: the operator may know better ones.
const coprocessorOf = ({ coprocessor }: Deployment): Given => {
  if (coprocessor === undefined) return {}
  const { cofhe_url, verifier_url, threshold_network_url } = coprocessor
  return { SVC_ICL_COFHE_URLS: [cofhe_url, verifier_url, threshold_network_url].join() }
}

/** Adds the settings of the file that SVC_ICL_DEPLOYMENT names. Throws SvcError `settings-invalid` or `deployment-invalid`. */
export function withDeployment(given: Given, readText: ReadText): Given {
  const file = given[setting]
  if (file === undefined) return given
  const deployment = parseDeployment(textOf(setting, file, readText, deploymentHint), file)
  const fromFile = stated(deployment)
  const mistakes = Object.entries(fromFile).flatMap(([name, value]) => {
    const explicit = given[name]
    if (explicit === undefined || explicit.toLowerCase() === value) return []
    return [`  ${name} is ${explicit}, and ${setting} (${file}) says ${value}`]
  })
  if (mistakes.length === 0) return { ...coprocessorOf(deployment), ...given, ...fromFile }
  throw new SvcError('settings-invalid', `The settings contradict:\n${mistakes.join('\n')}`, {
    hint: `Leave these settings out, or name another file in ${setting}.`,
  })
}

/** The settings that may be in a file, as secrets of containers are. */
const inFiles = ['SVC_ICL_SECRET', 'SVC_ICL_COORDINATOR_KEY'] as const

/** Adds the settings of the files that `..._FILE` names. Throws SvcError `settings-invalid`. */
export function withSecretFiles(given: Given, readText: ReadText): Given {
  const read = inFiles.flatMap((name) => {
    const file = given[`${name}_FILE`]
    if (file === undefined) return []
    const hint = 'Name a file that holds this setting alone.'
    if (given[name] === undefined) {
      return [[name, textOf(`${name}_FILE`, file, readText, hint).trim()] as const]
    }
    const why = `${name} and ${name}_FILE are both set`
    throw new SvcError('settings-invalid', why, { hint: `Leave ${name} out.` })
  })
  return { ...given, ...Object.fromEntries(read) }
}

const deploymentHint = 'Name the file that `npm run contracts:deploy` wrote.'

/** Reads the text that a setting names. Throws SvcError `settings-invalid`. */
export function textOf(name: string, file: string, readText: ReadText, hint: string): string {
  try {
    return readText(file)
  } catch (error) {
    const why = errorMessage(error)
    throw new SvcError('settings-invalid', `${name} cannot be read: ${why}`, { hint })
  }
}
