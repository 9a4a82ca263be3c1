import { demoStopSignal } from '../../demo/stop-signals.ts'
import { readCommandLine, refuseOptions, wholeNumber } from '../command-line.ts'
import { findSecantusDb } from '../store/wire-server/secantusdb.ts'
import { faultKinds } from './kinds.ts'
import { findPreload } from './preload.ts'
import { remarksOf, tableOf, totalsOf } from './report.ts'
import { type RunReport, runFaults } from './run.ts'
import type { StoreKind } from './world.ts'

const usage = `npm run faults -- [--minutes N] [--seed N] [--hasty] [--only KIND,...]

Injects faults under load into the whole service, until the time is over or Ctrl-C. Ends with 1 when
something was lost, doubled, left unsettled or expired.

  --minutes N      (10)
  --seed N         (of the clock)
  --hasty          more faults: each lasts 2 s at most, and the next one comes as soon as the ICL is ready
  --only KIND,...  ${faultKinds.map(({ name }) => name).join(', ')}
`
const values = readCommandLine(usage, {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  hasty: { type: 'boolean', default: false },
  only: { type: 'string' },
})
const print = (line: string) => void process.stdout.write(`${line}\n`)
const minutes = Number(values.minutes)
if (!(minutes > 0)) refuseOptions(`--minutes takes a number, not ${values.minutes}`)
const seed = wholeNumber('seed', values.seed, 0)
const pace = values.hasty ? { isHasty: true, nodes: 3, longestMs: 2_000 } : {}
const only = values.only?.split(',')
for (const name of only ?? []) {
  if (faultKinds.some((kind) => kind.name === name)) continue
  refuseOptions(`There is no fault ${name}`)
}

const preload = findPreload()
const secantus = await findSecantusDb()
const library = 'path' in preload ? preload.path : undefined
const chosen = faultKinds.filter(({ name }) => !only || only.includes(name))
const able = chosen.filter(({ needsPreload }) => !needsPreload || library !== undefined)
if ('missing' in preload && able.length < chosen.length) print(`left out: ${preload.missing}`)

const stores = (['sqlite', 'mongodb'] as const).flatMap((store) => {
  const kinds = able.filter((kind) => kind.stores.includes(store))
  if (kinds.length === 0) return []
  if (store === 'mongodb' && 'missing' in secantus) {
    print(`left out: faults of the database: ${secantus.missing}`)
    return []
  }
  return [{ store: store as StoreKind, kinds }]
})
if (stores.length === 0) refuseOptions('None of these faults can be injected here')

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
process.exit(hasFailed || lost + doubled + unsettled + expired + notBack > 0 ? 1 : 0)
