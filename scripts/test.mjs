// npm test [-- ARGS OF BUN TEST]: sets up, builds the contracts, runs the tests; ends with `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { countsLine, countsOfReport, skippedLines } from './counts.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

// A test that never gives the processor back cannot be ended by its own time limit.
const limitMs = 45 * 60_000

const readReport = (report) => {
  try {
    return readFileSync(report, 'utf8')
  } catch {
    return ''
  }
}

const runTests = (bun, report, args) => {
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  return runBun(bun, ['test', '--parallel', ...reporter, ...args], {
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

const bun = await ensureSetup()
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
const report = join(folder, 'report.xml')
try {
  const built = await runBun(bun, [join(root, 'contracts', 'build.ts')], { cwd: root })
  if (built !== 0) throw new Error('The contracts do not build.')
  const code = await runTests(bun, report, process.argv.slice(2))
  const xml = readReport(report)
  const { passed, failed } = countsOfReport(xml) ?? { passed: 0, failed: 0 }
  for (const line of skippedLines(xml)) console.log(line)
  process.exitCode = code === 0 ? 0 : 1
  // A file that does not load, or an error between tests, is a failure without a failed test.
  console.log(countsLine({ passed, failed: code === 0 ? failed : Math.max(failed, 1) }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
  console.log(countsLine({ passed: 0, failed: 1 }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
