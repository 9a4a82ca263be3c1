import { join } from 'node:path'
import { type Outcome, runCommand } from '../../lib/host/run-command.ts'
import { currentBinary } from '../../scripts/build-node/current-binary.ts'

/** The project's folder. */
export const root: string = join(import.meta.dirname, '..', '..')

const timeoutMs = 240_000

/** The path of dist/svc-node, built first unless it is of these sources. */
export const builtBinary = (): Promise<string> => currentBinary(root)

/** Runs a program in `cwd` with nothing in its environment but what is given. */
export const runBare = (
  command: readonly [string, ...string[]],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> => runCommand(command, { cwd, env, timeoutMs })
