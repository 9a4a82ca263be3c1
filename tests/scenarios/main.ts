// npm run scenarios [-- --seed N] [--only NAME] [--days N] [--honest-nodes N] [--clients N] [--jobs-per-day N] [--own-jobs-per-day N]
// npm run scenarios -- --tenth N [--seed N]
// What attacks on the service come to, as one table; ends with 1 when a promise does not hold. With --tenth, N jobs among nodes of which a tenth is at fault at random.
import { parseArgs } from 'node:util'
import { table } from '../bench/table.ts'
import { attackHeadings, attackRow, brokenPromises } from './attack-table.ts'
import { attacks } from './attacks.ts'
import { facesOf, faultyTenth } from './faulty-tenth.ts'
import { playAttack } from './play-attack.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    days: { type: 'string', default: '2' },
    'honest-nodes': { type: 'string', default: '9' },
    clients: { type: 'string', default: '12' },
    'jobs-per-day': { type: 'string', default: '24' },
    'own-jobs-per-day': { type: 'string', default: '100' },
    tenth: { type: 'string' },
  },
})
const seed = Number(values.seed)
const print = (text: string) => process.stdout.write(`${text}\n`)

async function playAll(): Promise<readonly string[]> {
  const length = {
    days: Number(values.days),
    honestNodes: Number(values['honest-nodes']),
    clients: Number(values.clients),
    jobsPerDay: Number(values['jobs-per-day']),
    ownJobsPerDay: Number(values['own-jobs-per-day']),
  }
  const chosen = attacks.filter(({ name }) => name.includes(values.only))
  const rows: (readonly string[])[] = [attackHeadings]
  const broken: string[] = []
  for (const attack of chosen) {
    const outcome = await playAttack(attack, seed, length)
    const row = attackRow(outcome)
    rows.push(row)
    print(row.join(' | '))
    broken.push(...brokenPromises(outcome))
  }
  print(`\nseed ${seed}, ${length.honestNodes} honest nodes\n${table(rows)}`)
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
  const report = await faultyTenth({ seed, jobs: Number(values.tenth), nodes: 70 })
  print(facesOf(report))
  print(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  process.exitCode = report.problems.length === 0 && report.wrong === 0 ? 0 : 1
}
process.exit()
