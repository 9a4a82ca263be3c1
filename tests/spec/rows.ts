// The table of what shows each requirement of the specification. `rows.tsv` has a requirement a line: number, section, words and evidence,
// which is `FILE > TEST` (a test under tests/, by the name as it is written there), `D7` (a departure of docs/specification.md), or
// `deviates: WHY` and `missing: WHY`.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** How many requirements the specification has. */
const rowCount = 283

export const kinds = ['exact', 'departures', 'deviates', 'missing'] as const
type Kind = (typeof kinds)[number]

export type Row = {
  readonly number: number
  readonly words: string
  readonly kind: Kind
  /** The departure, or why nothing shows the row. */
  readonly note: string
  /** `exact` alone: the test file from the root, and the test's name as it is written there. */
  readonly test?: { readonly file: string; readonly name: string }
}

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFile(join(root, path), 'utf8')

/** Reads the table. Throws an error that names each malformed line. */
export function parseRows(text: string): Row[] {
  const wrong: string[] = []
  const rows = text
    .trimEnd()
    .split('\n')
    .flatMap((line, index) => {
      const row = rowOf(line)
      if (row?.number === index + 1) return [row]
      wrong.push(
        `line ${index + 1} is not row ${index + 1} with its number, section, words and evidence: ${line}`,
      )
      return []
    })
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  return rows
}

function rowOf(line: string): Row | undefined {
  const [number, section, words, evidence = '', ...more] = line.split('\t')
  if (!section || !words || more.length > 0) return undefined
  const base = { number: Number(number), words }
  if (/^D\d+$/.test(evidence)) return { ...base, kind: 'departures', note: evidence }
  const [, kind, note] = /^(deviates|missing): (.+)$/.exec(evidence) ?? []
  if (note) return { ...base, kind: kind === 'missing' ? 'missing' : 'deviates', note }
  const [, file, name] = /^(\S+) > (.+)$/.exec(evidence) ?? []
  if (!file || !name) return undefined
  return { ...base, kind: 'exact', note: evidence, test: { file: `tests/${file}.test.ts`, name } }
}

/** Returns the table of this project. */
export const readRows = async (): Promise<Row[]> => parseRows(await read('tests/spec/rows.tsv'))

/** Returns what is wrong with the rows: tests and departures that do not exist, departures without a row. */
export async function problemsOf(rows: readonly Row[]): Promise<string[]> {
  const page = await read('docs/specification.md')
  const listed = new Set([...page.matchAll(/^\| (D\d+) /gm)].map(([, mark]) => mark!))
  const sources = new Map<string, Promise<string>>()
  const sourceOf = (file: string) => {
    const source = sources.get(file) ?? read(file).catch(() => '')
    sources.set(file, source)
    return source
  }
  const problems = rows.length === rowCount ? [] : [`${rows.length} rows, not ${rowCount}`]
  for (const { number, kind, note, test } of rows) {
    if (test && !names(await sourceOf(test.file), test.name)) {
      problems.push(`row ${number}: ${test.file} has no test named ${test.name}`)
    }
    if (kind === 'departures' && !listed.has(note)) {
      problems.push(`row ${number}: docs/specification.md has no departure ${note}`)
    }
  }
  const used = new Set(rows.map(({ note }) => note))
  for (const mark of listed) if (!used.has(mark)) problems.push(`${mark} has no row`)
  return problems
}

/** True when `it(` at the start of a line, or `)(` of a table or a condition, begins with this name. */
const names = (source: string, name: string) =>
  new RegExp(`(?<=^ *it|\\))\\(\\s*(['"\`])${escaped(name)}\\1`, 'm').test(source)

/** A pattern of the test's names when it runs: each value that a table or a template puts in may be any. */
export const runNameOf = (name: string): string =>
  name
    .split(/%[sijdo]|\$\{[^}]*\}|\$\w+/)
    .map(escaped)
    .join('.*')

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
