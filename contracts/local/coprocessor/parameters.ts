import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { evaluationDimension } from '../../../lib/coprocessor/small-tfhe-config.ts'

/** The number of bits that one proof may cover, as on the public networks. */
export const crsBits = 2048

// The name changes with everything that the keys are made with, so that old keys are not used.
const keysVersion = `1.5.3-${crsBits}-${evaluationDimension}`

/** Returns the folder of this user's keys for all local coprocessors, among the other tools (SVC_TOOLS_DIR). */
export const defaultKeysFolder = (
  environment: Readonly<Record<string, string | undefined>>,
): string => {
  const tools = environment.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools')
  return resolve(tools, `cofhe-keys-${keysVersion}`)
}
