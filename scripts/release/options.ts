import { z } from 'zod'
import { readOptions } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type Target, targetNamed, targets } from '../build-node/targets.ts'

/** The help text. */
export const usage =
  fitHelp(`Usage: npm run release -- [--dry-run] [--targets NAME,...] [--out FOLDER] [--cache FOLDER] [--json]

Makes everything that a release publishes: svc-node for every target, the ICL's bundle for edge
hosts, a bill of materials (CycloneDX), what has changed, and SHA256SUMS. It publishes nothing: at
its end it prints the commands that do.

  --dry-run        also when the commit is not tagged or files have changed: says so, and keeps nothing
  --targets A,B    only these: ${targets.map(({ name }) => name).join(', ')}
  --out FOLDER     where to (default: dist/release)
  --cache FOLDER   where the Bun runtimes of other platforms are kept (default: .cache/bun). npm downloads missing ones
  --json           one line of JSON at the end of standard output, progress on standard error

Ends with 0, with 1 when something could not be made, with 2 on wrong usage.
`)

const wrong = (message: string): SvcError =>
  new SvcError('usage', message, { hint: 'Run `npm run release -- --help`.' })

const Flags = z.object({
  'dry-run': z.boolean().default(false),
  targets: z.string().optional(),
  out: z.string().optional(),
  cache: z.string().optional(),
  json: z.boolean().default(false),
})

/** The options of the release. Without --out, a dry run uses a temporary folder and removes it in the end. */
export type ReleaseCommand = Omit<z.output<typeof Flags>, 'targets'> & {
  readonly targets: readonly Target[]
}

/** Parses the command line, undefined for help. Throws SvcError `usage`. */
export function parseReleaseOptions(args: readonly string[]): ReleaseCommand | undefined {
  const values = readOptions(args, Flags, wrong)
  const named = values?.targets?.split(',').map(targetNamed)
  return values && { ...values, targets: named === undefined ? targets : [...new Set(named)] }
}
