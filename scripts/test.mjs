// npm test [-- ARGS OF BUN TEST]: sets up, builds the contracts and runs the tests. Ends with `N passed, N failed`. npm run test:unit: only
// the tests that are pure or in memory.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { countsLine, countsOfReport, failedOf, folderLines, skippedLines } from './counts.mjs'
import { runBun } from './run-bun.mjs'
import { ensureSetup } from './setup.mjs'
import { findUnitTests } from './unit-tests.mjs'

// A test that blocks its process cannot be ended by its own time limit.
const limitMs = 90 * 60_000
// One worker more than cores, because many tests wait for other processes. Each keeps its modules between files, as `bun test` does.
const workers = ['--no-isolate', `--parallel=${availableParallelism() + 1}`]
// How much of the end of Bun's output is kept. It has the counts.
const summaryLength = 2_000

const readReport = (report) => {
  try {
    return readFileSync(report, 'utf8')
  } catch {
    return ''
  }
}

const runTests = async (bun, report, args) => {
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  const { isTTY } = process.stderr
  let end = ''
  const code = await runBun(bun, ['test', ...workers, ...reporter, ...args], {
    cwd: root,
    env: { ...process.env, ...(isTTY && { FORCE_COLOR: '1' }) },
    stdio: ['ignore', 'inherit', 'pipe'],
    onStart: (child) => {
      child.stderr.on('data', (text) => {
        process.stderr.write(text)
        end = `${end}${text}`.slice(-summaryLength)
      })
      setTimeout(() => {
        console.error(`The tests are ended: they took more than ${limitMs / 60_000} minutes.`)
        child.kill('SIGKILL')
      }, limitMs).unref()
    },
  })
  return { code, failed: failedOf(end) }
}

const chosenTests = () => {
  const [first, ...others] = process.argv.slice(2)
  if (first !== '--unit') return process.argv.slice(2)
  return [...findUnitTests().map((file) => `./${file}`), ...others]
}

const bun = await ensureSetup()
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
const report = join(folder, 'report.xml')
try {
  const built = await runBun(bun, [join(root, 'contracts', 'build.ts')], { cwd: root })
  if (built !== 0) throw new Error('The contracts do not build.')
  const { code, failed: told } = await runTests(bun, report, chosenTests())
  const xml = readReport(report)
  const { passed, failed } = countsOfReport(xml) ?? { passed: 0, failed: 0 }
  for (const line of [...folderLines(xml), ...skippedLines(xml)]) console.log(line)
  process.exitCode = code === 0 ? 0 : 1
  // The report lacks files that do not load. An error between tests may be missing in both.
  console.log(countsLine({ passed, failed: code === 0 ? failed : Math.max(failed, told, 1) }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
  console.log(countsLine({ passed: 0, failed: 1 }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
