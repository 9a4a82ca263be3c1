import { readCommandLine, refuseOptions, wholeNumber } from '../command-line.ts'
import { runContention } from './run.ts'
import type { Counts } from './tally.ts'

const usage = `npm run contention -- [--claims N] [--store NAME]

Has nodes claim the same jobs at the same time. Ends with 1 when two hold a lease or a fence falls.

  --claims N    how many claims (100000)
  --store NAME  mongodb (default, 3 ICL processes) or sqlite (1)
`
const values = readCommandLine(usage, {
  claims: { type: 'string', default: '100000' },
  store: { type: 'string', default: 'mongodb' },
})

const lineOf = ({
  claims,
  granted,
  refused,
  failed,
  leases,
  doubleGrants,
  fenceRegressions,
}: Counts) =>
  [
    `${claims} claims`,
    `${granted} granted (${leases} leases)`,
    `${refused} refused (${((100 * refused) / Math.max(claims, 1)).toFixed(1)} %)`,
    `${failed} failed`,
    `${doubleGrants} double grants`,
    `${fenceRegressions} fence regressions`,
  ].join(', ')

const { store } = values
if (store !== 'sqlite' && store !== 'mongodb') {
  refuseOptions(`--store takes mongodb or sqlite, not ${store}`)
}
const replicas = store === 'sqlite' ? 1 : 3
const startedAt = performance.now()
const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
const counts = await runContention(
  { store, replicas, claims: wholeNumber('claims', values.claims), jobs: 12, nodes: 12 },
  (soFar) => process.stderr.write(`${seconds()}: ${lineOf(soFar)}\n`),
)
process.stdout.write(
  `${store}, ${replicas} ICL process${replicas === 1 ? '' : 'es'}, ${seconds()}: ${lineOf(counts)}\n`,
)
const isSound = counts.doubleGrants + counts.fenceRegressions === 0
process.exit(isSound && counts.refused >= 0.3 * counts.claims ? 0 : 1)
