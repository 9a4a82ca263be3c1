// npm test [-- ARGS OF BUN TEST]: sets up, builds the contracts, runs the tests; ends with `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { countsLine, countsOfReport } from './counts.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'

// A test that never gives the processor back cannot be ended by its own time limit.
const limitMs = 15 * 60_000

const bun = await ensureSetup()
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
const report = join(folder, 'report.xml')

const runTests = async () => {
  const built = await runBun(bun, [join(root, 'contracts', 'build.ts')], { cwd: root })
  if (built !== 0) return built
  const args = ['test', '--timeout=60000', '--reporter=junit', `--reporter-outfile=${report}`]
  return runBun(bun, [...args, ...process.argv.slice(2)], {
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

const readReport = () => {
  try {
    return countsOfReport(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  }
}

try {
  const code = await runTests()
  const counts = readReport() ?? { passed: 0, failed: 1 }
  // A file that does not load, or an error between tests, fails the run without a failed test.
  const failed = code === 0 ? counts.failed : Math.max(counts.failed, 1)
  process.exitCode = failed === 0 ? 0 : code || 1
  console.log(countsLine({ ...counts, failed }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
