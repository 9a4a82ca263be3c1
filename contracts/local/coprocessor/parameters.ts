import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { evaluationDimension } from '../../../lib/coprocessor/small-tfhe-config.ts'

/** How many bits one proof may cover, as on the public networks. */
export const crsBits = 2048

// A new name for every change of what the keys are made with: keys of the old kind are then left alone.
const keysVersion = `1.5.3-${crsBits}-${evaluationDimension}`

/** Where the keys of every local coprocessor of this user are kept, as other tools are (SVC_TOOLS_DIR). */
export const defaultKeysFolder = (
  environment: Readonly<Record<string, string | undefined>>,
): string => {
  const tools = environment.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools')
  return resolve(tools, `cofhe-keys-${keysVersion}`)
}
