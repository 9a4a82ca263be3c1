import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readJson } from '../lib/host/private-files.ts'
import { SvcError } from '../lib/svc-error.ts'
import { type Config, correctFile, parseConfig, type Tell } from './config.ts'
import { withDeployment } from './deployment.ts'
import type { Environment } from './environment.ts'

/** Returns the path of the configuration: SVC_CONFIG_PATH, else `~/.svc/config.json` (spec 2.4). */
export const configPathOf = (environment: Environment): string =>
  resolve(environment.SVC_CONFIG_PATH || join(homedir(), '.svc', 'config.json'))

/** A configuration, and the paths of the files that belong to it. */
export type LoadedConfig = {
  readonly config: Config
  readonly configPath: string
  readonly keystorePath: string
  readonly attestationPath: string
}

/** Returns the path of the keystore. A configured one is relative to the configuration's folder. */
export const keystorePathOf = (configPath: string, configured: string | undefined): string =>
  resolve(dirname(configPath), configured ?? 'keystore.json')

/** Reads the JSON of a configuration, undefined when there is no file. Throws SvcError `file-unreadable`. */
export const readConfigFile = (configPath: string): Promise<unknown> =>
  readJson(configPath, correctFile)

/**
 * Reads and checks the configuration and the address file that it may name. Unknown fields go to `onUnknown`. A misspelt one is an error,
 * because it may be a limit or the address of a contract to trust. Read-only commands pass `onMisspelt`, which receives it instead.
 * Throws SvcError `config-missing`, `config-invalid`, `deployment-unreadable` or `deployment-invalid`.
 */
export async function loadConfig(
  environment: Environment,
  onUnknown: Tell,
  onMisspelt?: Tell,
): Promise<LoadedConfig> {
  const configPath = configPathOf(environment)
  const file = await readConfigFile(configPath)
  if (file === undefined) {
    throw new SvcError('config-missing', `there is no configuration at ${configPath}`, {
      hint: 'Run `svc-node init` first, or point SVC_CONFIG_PATH to the configuration.',
    })
  }
  const parsed = parseConfig(file, environment, configPath, onUnknown, onMisspelt)
  const config = await withDeployment(parsed, configPath)
  return {
    config,
    configPath,
    keystorePath: keystorePathOf(configPath, config.keystore_path),
    attestationPath: join(dirname(configPath), 'attestation.json'),
  }
}
