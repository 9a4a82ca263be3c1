import { cpus, release, totalmem } from 'node:os'
import { benchmarks } from './all.ts'
import { type Findings, type Form, type Goal, isMet } from './benchmark.ts'
import type { Outcome } from './run-alone.ts'

/** Where and when something was measured. */
export type Circumstances = {
  readonly form: Form
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly versions: Readonly<Record<string, string>>
}

/** This machine, in a line. */
export const describeMachine = (): string =>
  `${cpus().length} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${release()}`

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

/** A table in Markdown; its first row is its head. */
const markdownTable = ([head = [], ...rows]: readonly (readonly string[])[]): string =>
  [row(head), row(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(row)].join(
    '\n',
  )

const numberText = (value: number): string => String(Number(value.toPrecision(3)))

/** A goal as a row: what, found, goal, met or what holds it back. */
export const goalRow = (goal: Goal): readonly string[] => [
  goal.what,
  `${numberText(goal.found)} ${goal.unit}`,
  `${goal.better === 'higher' ? 'at least' : 'at most'} ${goal.limit} ${goal.unit}`,
  isMet(goal) ? 'met' : `missed${goal.heldBackBy ? `: ${goal.heldBackBy}` : ''}`,
]

const section = (name: Outcome['name'], findings: Findings): string =>
  [
    `## ${benchmarks[name].title} (${name})`,
    findings.method,
    ...findings.tables.flatMap(({ title, rows, isDetail }) =>
      isDetail ? [] : [`${title}:\n\n${markdownTable(rows)}`],
    ),
  ].join('\n\n')

/** The page with everything that was found. */
export function writePage(at: Circumstances, outcomes: readonly Outcome[]): string {
  const found = outcomes.flatMap(({ name, findings }) => (findings ? [{ name, findings }] : []))
  const goals = found.flatMap(({ findings }) => findings.goals)
  const skipped = found.flatMap(({ findings }) => findings.skipped)
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  const versions = Object.entries(at.versions).map(([name, version]) => `${name} ${version}`)
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0)
  return `${[
    '# Benchmarks',
    'Written by `npm run bench`. Do not edit. `--long` finds steadier numbers, `--only icl,jobs` runs a part, `--json` prints every number.',
    `Measured on ${at.date} at ${at.commit} in the ${at.form} form, which took ${seconds.toFixed(0)} s, on ${at.machine}, with ${versions.join(', ')}.`,
    'Absolute numbers depend on the machine and its load. What is compared was measured in turn in the same run.',
    `## Goals\n\n${markdownTable([['', 'found', 'goal', ''], ...goals.map(goalRow)])}`,
    ...found.map(({ name, findings }) => section(name, findings)),
    ...(skipped.length > 0
      ? [`## Not measured here\n\n${skipped.map((why) => `- ${why}.`).join('\n')}`]
      : []),
    ...(failed.length > 0
      ? [`## Failed\n\n${failed.map(({ name }) => `- ${name}`).join('\n')}`]
      : []),
  ].join('\n\n')}\n`
}
