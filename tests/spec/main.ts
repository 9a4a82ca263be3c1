import { z } from 'zod'
import { flag } from '../../lib/host/program/option.ts'
import { runOnly } from '../run-program.ts'
import { kinds, problemsOf, readRows } from './rows.ts'
import { runNamed } from './run-named.ts'

await runOnly('npm run spec --', {
  summary:
    'Say for each requirement of the specification which test shows it, or which departure it is. Ends with 1 when one deviates or is missing.',
  options: z.object({
    run: flag('Run the tests that the table names, which starts whole services'),
  }),
  run: async ({ run }, { print, warn }) => {
    const rows = await readRows()
    const problems = await problemsOf(rows)
    if (run && problems.length === 0) problems.push(...(await runNamed(rows)))
    for (const { number, words, kind, note } of rows) {
      if (kind === 'deviates' || kind === 'missing')
        warn(`row ${number}: ${words}: ${kind}: ${note}`)
    }
    for (const problem of problems) warn(problem)
    const counts = new Map(kinds.map((kind) => [kind, 0]))
    for (const { kind } of rows) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const marks = new Set(rows.flatMap(({ kind, note }) => (kind === 'departures' ? [note] : [])))
    print([...counts].map(([kind, count]) => `${kind} ${count}`).join(', '))
    print(`${marks.size} departures, ${problems.length} problems`)
    const lacking = (counts.get('deviates') ?? 0) + (counts.get('missing') ?? 0)
    return lacking + problems.length === 0 ? 0 : 1
  },
})
