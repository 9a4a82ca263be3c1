import { z } from 'zod'
import { demoStopSignal } from '../../demo/stop-signals.ts'
import { flag, ListOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { usageError } from '../../lib/host/program/program.ts'
import { print, runOnly } from '../run-program.ts'
import { findSecantusDb } from '../store/wire-server/secantusdb.ts'
import { faultKinds } from './kinds.ts'
import { findPreload } from './preload.ts'
import { remarksOf, tableOf, totalsOf } from './report.ts'
import { type RunReport, runFaults } from './run.ts'

/** Returns the stores with the faults of `names` that can be injected over each here, and prints which cannot. */
async function ableStores(names: readonly string[], library: string | undefined) {
  const secantus = await findSecantusDb()
  const chosen = faultKinds.filter(({ name }) => names.includes(name))
  const able = chosen.filter(({ needsPreload }) => !needsPreload || library !== undefined)
  const stores = (['sqlite', 'mongodb'] as const).flatMap((store) => {
    const kinds = able.filter((kind) => kind.stores.includes(store))
    if (kinds.length === 0) return []
    if (store === 'mongodb' && 'missing' in secantus) {
      print(`left out: faults of the database: ${secantus.missing}`)
      return []
    }
    return [{ store, kinds }]
  })
  return { stores, isPart: able.length < chosen.length }
}

const kindNames = faultKinds.map(({ name }) => name)
const options = z.object({
  minutes: option(WholeNumber(1, 100_000).default(10), 'N', 'How long'),
  seed: option(
    WholeNumber(0, 999_999_999).optional(),
    'N',
    'What decides the faults (default: of the clock)',
  ),
  hasty: flag(
    'More faults: each lasts 2 s at most, and the next one comes as soon as the ICL is ready',
  ),
  only: option(ListOf(kindNames).default(kindNames), 'KINDS', 'Separated by commas'),
})

async function injectFaults({
  minutes,
  seed = Date.now() % 1_000_000,
  hasty,
  only,
}: z.output<typeof options>): Promise<number> {
  const pace = hasty ? { isHasty: true, nodes: 3, longestMs: 2_000 } : {}
  const preload = findPreload()
  const library = 'path' in preload ? preload.path : undefined
  const { stores, isPart } = await ableStores(only, library)
  if ('missing' in preload && isPart) print(`left out: ${preload.missing}`)
  if (stores.length === 0)
    throw usageError('none of these faults can be injected here', 'Choose others with --only.')
  const signal = demoStopSignal()
  print(`seed ${seed}, ${minutes} min`)
  const reports: RunReport[] = []
  let hasFailed = false
  const all = stores.reduce((sum, { kinds }) => sum + kinds.length, 0)
  for (const { store, kinds } of stores) {
    if (signal.aborted) break
    print(`--- ${store}`)
    const end = performance.now() + (60_000 * minutes * kinds.length) / all
    const goesOn = () => performance.now() < end
    const options = { store, kinds, seed, preload: library, goesOn, signal, print, ...pace }
    try {
      reports.push(await runFaults(options))
    } catch (error) {
      hasFailed = true
      print(`The run over ${store} failed: ${error}`)
    }
  }
  for (const report of reports)
    for (const line of [tableOf(report), ...remarksOf(report)]) print(line)
  const { faults, lost, doubled, unsettled, expired, notBack } = totalsOf(reports)
  if (notBack > 0) print(`no job was answered within 5 minutes after ${notBack} faults`)
  print(
    `faults: ${faults} put in, ${lost} lost, ${doubled} doubled, ${unsettled} unsettled, ${expired} expired for an outage`,
  )
  return hasFailed || lost + doubled + unsettled + expired + notBack > 0 ? 1 : 0
}

await runOnly('npm run faults --', {
  summary:
    'Inject faults under load into the whole service, until the time is over or Ctrl-C. Ends with 1 when something was lost, doubled, left unsettled or expired.',
  options,
  run: injectFaults,
})
