import { z } from 'zod'
import { readOptions } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type Target, targetNamed, targets } from './targets.ts'

/** The help text. */
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

const Flags = z.object({
  all: z.boolean().default(false),
  target: z.array(z.string()).default([]),
  out: z.string().optional(),
  cache: z.string().optional(),
  commit: z
    .string()
    .regex(/^[\w.-]{1,80}$/, 'takes up to 80 letters, digits, dots and hyphens')
    .optional(),
  json: z.boolean().default(false),
})

/** The options of the build. Without targets it builds for this machine. */
export type BuildCommand = z.output<typeof Flags> & { readonly targets: readonly Target[] }

/** Parses the command line, undefined for help. Throws SvcError `usage`. */
export function parseBuildOptions(args: readonly string[]): BuildCommand | undefined {
  const values = readOptions(args, Flags, wrong)
  const named = values?.target.map(targetNamed) ?? []
  if (values?.all && named.length > 0) throw wrong('--all and --target exclude one another')
  return values && { ...values, targets: values.all ? targets : [...new Set(named)] }
}
