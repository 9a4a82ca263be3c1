import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { checkDeployed, parseDeployment } from '../lib/deployment.ts'
import { errorMessage } from '../lib/error-message.ts'
import type { Deployment } from '../lib/schemas/deployment.ts'
import type { Network } from '../lib/schemas/network.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { Config } from './config.ts'

type Named = Pick<Config, 'deployment'>

/** Returns the configuration with the full path of its address file. A relative path starts at the configuration's folder. */
export const withDeploymentPath = <T extends Named>(config: T, configPath: string): T =>
  config.deployment === undefined
    ? config
    : { ...config, deployment: resolve(dirname(configPath), config.deployment) }

/** Reads the configured address file, undefined without one. Throws SvcError `deployment-unreadable` or `deployment-invalid`. */
async function readDeployment({ deployment }: Named): Promise<Deployment | undefined> {
  if (deployment === undefined) return undefined
  let text: string
  try {
    text = await readFile(deployment, 'utf8')
  } catch (error) {
    const why = errorMessage(error)
    throw new SvcError(
      'deployment-unreadable',
      `the address file ${deployment} cannot be read: ${why}`,
      {
        hint: 'Correct deployment in the configuration (SVC_DEPLOYMENT), or leave it out.',
      },
    )
  }
  return parseDeployment(text, deployment)
}

/** Completes the configuration from its address file: the coprocessor's addresses, unless they are configured. */
export async function withDeployment(config: Config, configPath: string): Promise<Config> {
  const located = withDeploymentPath(config, configPath)
  const deployment = await readDeployment(located)
  const cofhe_urls = config.cofhe_urls ?? deployment?.coprocessor
  return cofhe_urls === undefined ? located : { ...located, cofhe_urls }
}

/** Checks that the ICL uses the deployment that the configuration names. Throws SvcError `chain-wrong` or `contracts-wrong`. */
export async function checkIclDeployment(network: Network, config: Named): Promise<void> {
  const deployment = await readDeployment(config)
  if (deployment !== undefined) checkDeployed(network, deployment)
}
