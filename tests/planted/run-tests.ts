import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Reports = {
  readonly countsOfReport: (
    xml: string,
  ) => { readonly passed: number; readonly skipped: number } | undefined
  readonly failuresOfReport: (
    xml: string,
  ) => readonly { readonly file: string; readonly name: string }[]
}
type Proxies = { readonly withoutProxyHere: (environment: NodeJS.ProcessEnv) => NodeJS.ProcessEnv }

const script = (name: string) => import(new URL(`../../scripts/${name}.mjs`, import.meta.url).href)

/** What came of a run of test files. */
export type TestRun = {
  readonly passed: number
  readonly skipped: number
  /** The first test that failed, with its file; undefined when none did. */
  readonly failure: { readonly file: string; readonly name: string } | undefined
  /** Why the run says nothing: it was ended, or a file did not load. */
  readonly trouble: string | undefined
  readonly seconds: number
}

const limitMs = 300_000

/** Runs test files of a copy of the project with this Bun, up to the first that fails. */
export async function runTests(folder: string, files: readonly string[]): Promise<TestRun> {
  const { countsOfReport, failuresOfReport }: Reports = await script('counts')
  const reports = await mkdtemp(join(tmpdir(), 'svc-planted-report-'))
  const report = join(reports, 'report.xml')
  const startedAt = performance.now()
  try {
    const { code, output } = await run(folder, [
      ...['--no-env-file', 'test', '--timeout=60000', '--bail=1'],
      ...['--reporter=junit', `--reporter-outfile=${report}`],
      ...files.map((file) => `./${file}`),
    ])
    const xml = await readFile(report, 'utf8').catch(() => '')
    const counts = countsOfReport(xml) ?? { passed: 0, skipped: 0 }
    const [failure] = failuresOfReport(xml)
    const isClear = code === 0 ? counts.passed > 0 : failure !== undefined
    return {
      passed: counts.passed,
      skipped: counts.skipped,
      failure,
      trouble: isClear ? undefined : `exit ${code}: ${output.slice(-2_000)}`,
      seconds: (performance.now() - startedAt) / 1000,
    }
  } finally {
    await rm(reports, { recursive: true, force: true })
  }
}

async function run(folder: string, args: readonly string[]) {
  const { withoutProxyHere }: Proxies = await script('no-proxy')
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...withoutProxyHere(process.env),
      // A file that is changed and changed back must not be taken for what it was in between.
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    },
  })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-20_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  return new Promise<{ readonly code: number | null; readonly output: string }>(
    (resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        clearTimeout(limit)
        resolve({ code, output })
      })
    },
  )
}
