import { z } from 'zod'
import { OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { runOnly } from '../run-program.ts'
import { runContention } from './run.ts'
import type { Counts } from './tally.ts'

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

await runOnly('npm run contention --', {
  summary:
    'Have nodes claim the same jobs at the same time. Ends with 1 when two hold a lease or a fence falls.',
  options: z.object({
    claims: option(WholeNumber(1, 1_000_000_000).default(100_000), 'N', 'How many claims'),
    store: option(
      OneOf(['mongodb', 'sqlite']).default('mongodb'),
      'NAME',
      'Of 3 ICL processes; of 1 with sqlite',
    ),
  }),
  run: async ({ claims, store }, { print, warn }) => {
    const replicas = store === 'sqlite' ? 1 : 3
    const startedAt = performance.now()
    const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
    const counts = await runContention({ store, replicas, claims, jobs: 12, nodes: 12 }, (soFar) =>
      warn(`${seconds()}: ${lineOf(soFar)}`),
    )
    const processes = `${replicas} ICL process${replicas === 1 ? '' : 'es'}`
    print(`${store}, ${processes}, ${seconds()}: ${lineOf(counts)}`)
    const isSound = counts.doubleGrants + counts.fenceRegressions === 0
    return isSound && counts.refused >= 0.3 * counts.claims ? 0 : 1
  },
})
