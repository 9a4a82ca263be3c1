import { parseJson } from './parse-json.ts'
import { Deployment } from './schemas/deployment.ts'
import type { Network } from './schemas/network.ts'
import { SvcError } from './svc-error.ts'

const maxCharacters = 65_536

/** Parses an address file's text, which is from `source`. Throws SvcError `deployment-invalid` with every mistake. */
export function parseDeployment(text: string, source = 'the address file'): Deployment {
  const parsed = Deployment.safeParse(jsonOf(text, source))
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(({ path, message }) => {
    const name = path.join('.')
    return `  - ${name === '' ? message : `${name}: ${message}`}`
  })
  throw invalid(source, `is no address file:\n${mistakes.join('\n')}`)
}

/** The text of an address file. */
export const formatDeployment = (deployment: Deployment): string =>
  `${JSON.stringify(deployment, null, 2)}\n`

/** Checks that an ICL uses this deployment; throws SvcError `chain-wrong` or `contracts-wrong`. */
export function checkDeployed(
  network: Pick<Network, 'chain_id' | 'contracts'>,
  deployment: Deployment,
): void {
  const hint =
    'Use the ICL of this deployment, or the address file that its operator has announced and that you trust.'
  if (network.chain_id !== deployment.chain_id) {
    throw new SvcError(
      'chain-wrong',
      `the ICL uses chain ${network.chain_id}, and the address file is for chain ${deployment.chain_id} (${deployment.network})`,
      { hint },
    )
  }
  for (const name of contractNames) {
    const [named, expected] = [network.contracts[name], deployment.contracts[name]]
    if (named === expected) continue
    throw new SvcError(
      'contracts-wrong',
      `the ICL names ${named} as ${name}, and the address file names ${expected}`,
      { hint },
    )
  }
}

const contractNames = ['node_registry', 'prompt_key_store', 'result_registry'] as const

function jsonOf(text: string, source: string): unknown {
  if (text.length > maxCharacters) throw invalid(source, 'is too long for an address file')
  const json = parseJson(text)
  if (json === undefined) throw invalid(source, 'is no JSON')
  return json
}

const invalid = (source: string, what: string): SvcError =>
  new SvcError('deployment-invalid', `${source} ${what}`, {
    hint: 'Use the file that `npm run contracts:deploy` wrote.',
  })
