import { z } from 'zod'
import { option, WholeNumber } from '../../lib/host/program/option.ts'
import { table } from '../bench/table.ts'
import { print, runOnly } from '../run-program.ts'
import { attackHeadings, attackRow, brokenPromises } from './attack-table.ts'
import { attacks } from './attacks.ts'
import { facesOf, faultyTenth } from './faulty-tenth.ts'
import { playAttack } from './play-attack.ts'
import { weighedAttacks } from './weighed.ts'
import { weighedHeadings, weighedRow } from './weighed-table.ts'

const all = [...attacks, ...weighedAttacks]

async function playAll(only: string, days: number, seed: number): Promise<readonly string[]> {
  const length = {
    days,
    ...{ honestNodes: 9, clients: 12, jobsPerDay: 24, ownJobsPerDay: 100 },
  }
  const chosen = all.filter(({ name }) => name.includes(only))
  const rows: (readonly string[])[] = [attackHeadings]
  const weighedRows: (readonly string[])[] = [weighedHeadings]
  const broken: string[] = []
  for (const attack of chosen) {
    const outcome = await playAttack(attack, seed, length)
    const row = attack.check ? weighedRow(outcome) : attackRow(outcome)
    ;(attack.check ? weighedRows : rows).push(row)
    print(row.join(' | '))
    broken.push(...brokenPromises(outcome))
  }
  const tables = [rows, weighedRows].filter(({ length: rowsOf }) => rowsOf > 1).map(table)
  print(`\nseed ${seed}, ${length.honestNodes} honest nodes\n${tables.join('\n')}`)
  return broken
}

await runOnly('npm run scenarios --', {
  summary:
    'Play attacks over days of virtual time and print what they come to. Ends with 1 when a promise does not hold.',
  options: z.object({
    seed: option(WholeNumber(0, 999_999_999).default(1), 'N', 'What decides all chances'),
    only: option(
      z
        .string()
        .refine((part) => all.some(({ name }) => name.includes(part)), {
          error: `takes a part of ${all.map(({ name }) => name).join(', ')}`,
        })
        .optional(),
      'NAME',
      'The attacks whose name holds this',
    ),
    days: option(WholeNumber(1, 1_000).default(2), 'N', 'How long they last'),
    tenth: option(
      WholeNumber(1, 1_000_000).optional(),
      'N',
      'Instead: N jobs among nodes of which a tenth is at fault at random',
    ),
  }),
  run: async ({ seed, only = '', days, tenth }) => {
    if (tenth === undefined) {
      const broken = await playAll(only, days, seed)
      print(
        broken.length === 0
          ? 'No lie of one or two nodes was accepted in a job of others, and no owner without nodes took more than a tenth of its victim’s weight in a day.'
          : broken.join('\n'),
      )
      return broken.length === 0 ? 0 : 1
    }
    const startedAt = performance.now()
    const report = await faultyTenth({ seed, jobs: tenth, nodes: 70 })
    print(facesOf(report))
    print(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
    return report.problems.length === 0 && report.wrong === 0 ? 0 : 1
  },
})
