// npm test [-- ARGS OF BUN TEST]: sets up, builds the contracts, runs the tests; ends with `N passed, N failed`.
// Files with a failed test are run once more with nothing beside them: what passes then is named as flaky, and has failed all the same.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { countsLine, countsOfReport, failuresOfReport, skippedLines } from './counts.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

// A test that never gives the processor back cannot be ended by its own time limit.
const limitMs = 45 * 60_000
// So many failures are no accident of a busy machine.
const mostFlaky = 5

const bun = await ensureSetup()
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))

const runTests = (report, chosen) => {
  const args = ['test', '--timeout=60000', '--reporter=junit', `--reporter-outfile=${report}`]
  return runBun(bun, [...args, ...chosen], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    onStart: (child) => {
      setTimeout(() => {
        console.error(`The tests are ended: they took more than ${limitMs / 60_000} minutes.`)
        child.kill('SIGKILL')
      }, limitMs).unref()
    },
  })
}

const readReport = (report) => {
  try {
    return readFileSync(report, 'utf8')
  } catch {
    return ''
  }
}

/** Runs tests; a file that does not load, or an error between tests, counts as a failure without a failed test. */
const run = async (name, chosen) => {
  const report = join(folder, `${name}.xml`)
  const code = await runTests(report, chosen)
  const xml = readReport(report)
  const counts = countsOfReport(xml) ?? { passed: 0, failed: 1 }
  const failed = code === 0 ? counts.failed : Math.max(counts.failed, 1)
  return { passed: counts.passed, failed, failures: failuresOfReport(xml), xml }
}

/** The failures that a second run, alone, does not show again; none when the first run failed in another way than by a few tests. */
const findFlaky = async ({ failed, failures }) => {
  if (failed === 0 || failed > mostFlaky || failures.length !== failed) return []
  const files = [...new Set(failures.map(({ file }) => file))]
  console.log(`${failed} failed; running once more, alone: ${files.join(', ')}`)
  const again = await run(
    'again',
    files.map((file) => `./${file}`),
  )
  return again.failed === 0 ? failures : []
}

try {
  const built = await runBun(bun, [join(root, 'contracts', 'build.ts')], { cwd: root })
  if (built !== 0) throw new Error('The contracts do not build.')
  const first = await run('first', process.argv.slice(2))
  const flaky = await findFlaky(first)
  const { passed, failed } = first
  process.exitCode = failed === 0 ? 0 : 1
  for (const line of skippedLines(first.xml)) console.log(line)
  for (const { file, name } of flaky) console.log(`flaky: ${file} ${name}`)
  console.log(countsLine({ passed, failed }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
  console.log(countsLine({ passed: 0, failed: 1 }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
