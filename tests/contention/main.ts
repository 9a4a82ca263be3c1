// npm run contention -- [--claims N] [--store mongodb|sqlite] [--replicas N] [--jobs N] [--nodes N]
import { parseArgs } from 'node:util'
import { runContention } from './run.ts'
import type { Counts } from './tally.ts'

const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '100000' },
    store: { type: 'string', default: 'mongodb' },
    replicas: { type: 'string' },
    jobs: { type: 'string', default: '12' },
    nodes: { type: 'string', default: '12' },
  },
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

const store = values.store === 'sqlite' ? 'sqlite' : 'mongodb'
const replicas = Number(values.replicas ?? (store === 'sqlite' ? 1 : 3))
const startedAt = performance.now()
const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
const counts = await runContention(
  {
    store,
    replicas,
    claims: Number(values.claims),
    jobs: Number(values.jobs),
    nodes: Number(values.nodes),
  },
  (soFar) => process.stderr.write(`${seconds()}: ${lineOf(soFar)}\n`),
)
process.stdout.write(
  `${store}, ${replicas} ICL process${replicas === 1 ? '' : 'es'}, ${seconds()}: ${lineOf(counts)}\n`,
)
const isSound = counts.doubleGrants + counts.fenceRegressions === 0
process.exit(isSound && counts.refused >= 0.3 * counts.claims ? 0 : 1)
