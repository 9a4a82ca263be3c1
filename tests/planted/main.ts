// npm run planted [-- --only NAME,NAME] [--json]
// Plants one bug after another into a copy of the project, and says which test finds it.
import { parseArgs } from 'node:util'
import { table } from '../bench/table.ts'
import { plantedBugs } from './all.ts'
import { catchBug, type Finding } from './catch-bug.ts'
import { copyProject } from './copy-project.ts'
import { runTests } from './run-tests.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, json: { type: 'boolean', default: false } },
})
const wanted = values.only?.split(',')
const unknown = wanted?.filter((name) => !plantedBugs.some((bug) => bug.name === name)) ?? []
if (unknown.length > 0) throw new Error(`There is no planted bug ${unknown.join(', ')}`)
const bugs = plantedBugs.filter(({ name }) => wanted?.includes(name) ?? true)

const print = (text: string) => process.stdout.write(`${text}\n`)
const note = (text: string) => process.stderr.write(`${text}\n`)

const rowOf = ({ bug, caughtBy, trouble, seconds }: Finding) => [
  bug.name,
  caughtBy?.file ?? 'nothing',
  caughtBy?.name ?? trouble?.split('\n')[0] ?? 'every test passed',
  seconds.toFixed(1),
]

const copy = await copyProject()
try {
  const files = [...new Set(bugs.flatMap(({ tests }) => tests))]
  const whole = await runTests(copy.folder, files)
  if (whole.failure || whole.trouble) {
    throw new Error(
      `Without a bug: ${whole.failure?.file ?? ''} ${whole.failure?.name ?? whole.trouble}`,
    )
  }
  note(
    `without a bug: ${files.length} files, ${whole.passed} passed, ${whole.skipped} skipped, ${whole.seconds.toFixed(0)} s`,
  )
  const findings: Finding[] = []
  for (const bug of bugs) {
    const finding = await catchBug(copy, bug)
    findings.push(finding)
    note(rowOf(finding).join(' | '))
    if (!finding.caughtBy && finding.trouble) note(finding.trouble)
  }
  const caught = findings.filter(({ caughtBy }) => caughtBy).length
  if (values.json) {
    const bugsSaid = findings.map(({ bug, caughtBy, seconds }) => ({
      ...{ name: bug.name, what: bug.what, file: bug.file },
      ...{ caught_by: caughtBy?.file ?? null, test: caughtBy?.name ?? null },
      seconds: Number(seconds.toFixed(1)),
    }))
    print(JSON.stringify({ planted: findings.length, caught, bugs: bugsSaid }))
  } else {
    print(table([['bug', 'caught by', 'first test that fails', 's'], ...findings.map(rowOf)]))
    print(`${caught} of ${findings.length} caught`)
  }
  process.exitCode = caught === findings.length ? 0 : 1
} finally {
  await copy.remove()
}
