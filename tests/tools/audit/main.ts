// npm run audit: the rules of the dependencies, and the advisories of the registry; 75 when it could not be asked for them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { advisoriesIn, thresholds } from './advisories.ts'
import { countsOf, faultsOf, readDependencies } from './lockfile.ts'

const root = join(import.meta.dirname, '../../..')
const longestMs = 60_000
const couldNotAsk = 75
const write = (line: string) => process.stdout.write(`${line}\n`)

const today = new Date().toISOString().slice(0, 10)
const dependencies = await readDependencies(root)
const { packages, shipped, foreign, scripts } = countsOf(dependencies)
const faults = [...faultsOf(dependencies, today)]
write(
  `${packages} packages locked, ${shipped} of them shipped: ${faults.length} faults in versions, checksums, scripts and licences`,
)
write(
  `  ${foreign} packages for other machines have no checksum, and are not installed here; ${scripts} have install scripts, which are not run`,
)

let isAsked = true
for (const [what, least] of Object.entries(thresholds)) {
  const args = [
    'audit',
    '--json',
    '--package-lock-only',
    ...(what === 'shipped' ? ['--omit=dev'] : []),
  ]
  const { stdout } = spawnSync('npm', args, { cwd: root, timeout: longestMs, encoding: 'utf8' })
  const found = advisoriesIn(stdout, least, today)
  if (found === undefined) {
    isAsked = false
    write(`  advisories for ${what}: the registry could not be asked`)
  } else {
    write(`  advisories for ${what}: ${found.length} of severity ${least} or more`)
    faults.push(...found)
  }
}
for (const fault of faults) write(`FAILED ${fault}`)
process.exit(faults.length > 0 ? 1 : isAsked ? 0 : couldNotAsk)
