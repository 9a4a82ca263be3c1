import { table } from '../bench/table.ts'
import { readCommandLine, refuseOptions, wholeNumber } from '../command-line.ts'
import { attackHeadings, attackRow, brokenPromises } from './attack-table.ts'
import { attacks } from './attacks.ts'
import { facesOf, faultyTenth } from './faulty-tenth.ts'
import { playAttack } from './play-attack.ts'
import { weighedAttacks } from './weighed.ts'
import { weighedHeadings, weighedRow } from './weighed-table.ts'

const usage = `npm run scenarios -- [--only NAME] [--days N] [--seed N]
npm run scenarios -- --tenth N [--seed N]

Plays attacks over days of virtual time and prints what they come to. Ends with 1 when a promise
does not hold.

  --seed N     (1)
  --only NAME  the attacks whose name holds this
  --days N     (2)
  --tenth N    N jobs among nodes of which a tenth is at fault at random
`
const values = readCommandLine(usage, {
  seed: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
  days: { type: 'string', default: '2' },
  tenth: { type: 'string' },
})
const seed = wholeNumber('seed', values.seed, 0)
const print = (text: string) => process.stdout.write(`${text}\n`)

async function playAll(): Promise<readonly string[]> {
  const length = {
    days: wholeNumber('days', values.days),
    ...{ honestNodes: 9, clients: 12, jobsPerDay: 24, ownJobsPerDay: 100 },
  }
  const all = [...attacks, ...weighedAttacks]
  const chosen = all.filter(({ name }) => name.includes(values.only))
  if (chosen.length === 0) {
    refuseOptions(`--only takes a part of ${all.map(({ name }) => name).join(', ')}`)
  }
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

if (values.tenth === undefined) {
  const broken = await playAll()
  print(
    broken.length === 0
      ? 'No lie of one or two nodes was accepted in a job of others, and no owner without nodes took more than a tenth of its victim’s weight in a day.'
      : broken.join('\n'),
  )
  process.exitCode = broken.length === 0 ? 0 : 1
} else {
  const startedAt = performance.now()
  const report = await faultyTenth({ seed, jobs: wholeNumber('tenth', values.tenth), nodes: 70 })
  print(facesOf(report))
  print(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  process.exitCode = report.problems.length === 0 && report.wrong === 0 ? 0 : 1
}
process.exit()
