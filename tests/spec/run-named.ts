import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Row, runNameOf } from './rows.ts'

const limitMs = 30 * 60_000
const root = join(import.meta.dirname, '..', '..')

type Ran = { readonly file: string; readonly name: string; readonly passed: boolean }

/**
 * Runs the tests that these rows name, all of them in one `bun test` of at most 30 minutes. Returns a line for each row of which a test did
 * not pass, or none ran.
 */
export async function runNamed(rows: readonly Row[]): Promise<string[]> {
  const tests = rows.flatMap(({ number, test }) => (test ? [{ number, ...test }] : []))
  const names = new Set(tests.map(({ name }) => runNameOf(name)))
  const files = new Set(tests.map(({ file }) => `./${file}`))
  const folder = await mkdtemp(join(tmpdir(), 'svc-spec-'))
  const report = join(folder, 'report.xml')
  try {
    const only = ['-t', `(?:${[...names].join('|')})$`]
    const junit = ['--reporter=junit', `--reporter-outfile=${report}`]
    const args = ['--no-env-file', 'test', ...only, ...junit, ...files]
    const child = spawn(process.execPath, args, {
      ...{ cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
      ...{ timeout: limitMs, killSignal: 'SIGKILL' },
    })
    await once(child, 'close')
    return failuresOf(tests, ranIn(await readFile(report, 'utf8').catch(() => '')))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function failuresOf(
  tests: readonly { number: number; file: string; name: string }[],
  ran: readonly Ran[],
): string[] {
  return tests.flatMap(({ number, file, name }) => {
    const pattern = new RegExp(`^${runNameOf(name)}$`)
    const own = ran.filter((one) => one.file === file && pattern.test(one.name))
    const said = own.length === 0 ? 'did not run' : 'failed'
    return own.length > 0 && own.every(({ passed }) => passed)
      ? []
      : [`row ${number}: ${said}: ${file} > ${name}`]
  })
}

const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>' }
const plain = (text: string) =>
  text.replaceAll(/&(quot|apos|lt|gt|amp);/g, (_, name: string) => entities[name] ?? '&')

/** Reads the tests of a JUnit report that were not skipped. */
export function ranIn(xml: string): Ran[] {
  const cases = xml.matchAll(
    /<testcase name="([^"]*)"[^>]*? file="([^"]*)"[^>]*?(?:\/>|>\s*<(\w+))/g,
  )
  return [...cases].flatMap(([, name = '', file = '', inside]) =>
    inside === 'skipped' ? [] : [{ file, name: plain(name), passed: inside === undefined }],
  )
}
