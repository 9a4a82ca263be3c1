import { readCommandLine } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type Target, targetNamed, targets } from './targets.ts'

/** What the build was asked for; no targets means this machine. */
export type BuildCommand = {
  readonly targets: readonly Target[]
  readonly folder: string | undefined
  readonly cache: string | undefined
  readonly commit: string | undefined
  readonly json: boolean
  readonly help: boolean
}

/** How the build is used. */
export const usage = fitHelp(`Usage: npm run build:node -- [--all | --target NAME ...] [OPTIONS]

Builds svc-node as one executable, dist/svc-node for this machine. With targets it builds
dist/svc-node-NAME for each and writes dist/SHA256SUMS.

  --all            every target: ${targets.map(({ name }) => name).join(', ')}
  --target NAME    one target, may be repeated
  --out FOLDER     where to (default: dist)
  --cache FOLDER   where the Bun runtimes of other platforms are kept (default: .cache/bun). npm downloads missing ones
  --commit ID      the commit to build in (default: from git)
  --json           one line of JSON at the end of standard output, progress on standard error

Ends with 0, with 1 when something could not be built (it is named), with 2 on wrong usage.
`)

const wrong = (message: string): SvcError =>
  new SvcError('usage', message, { hint: 'Run `npm run build:node -- --help`.' })

const options = {
  all: { type: 'boolean', default: false },
  target: { type: 'string', multiple: true, default: [] as string[] },
  out: { type: 'string' },
  cache: { type: 'string' },
  commit: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Reads the command line; throws SvcError `usage`. */
export function parseBuildOptions(args: readonly string[]): BuildCommand {
  const { values } = readCommandLine({ args: [...args], options }, wrong)
  const named = values.target.map(targetNamed)
  if (values.all && named.length > 0) throw wrong('--all and --target exclude one another')
  if (values.commit !== undefined && !/^[\w.-]{1,80}$/.test(values.commit)) {
    throw wrong('--commit takes up to 80 letters, digits, dots and hyphens')
  }
  return {
    ...values,
    targets: values.all ? targets : [...new Set(named)],
    folder: values.out,
    cache: values.cache,
    commit: values.commit,
  }
}
