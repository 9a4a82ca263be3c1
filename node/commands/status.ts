import { exitCodes } from '../../lib/host/exit-code.ts'
import { shareText } from '../../lib/weight-moves.ts'
import { tpmOfCertificate } from '../attestation/certificate-claims.ts'
import { freeAt, type RegistryState, registrationJson } from '../chain/registry.ts'
import { loadConfig } from '../config-file.ts'
import { historyPathOf, readHistory } from '../journal/history.ts'
import { durationText, etherText, timeText } from './amounts.ts'
import { type CommandContext, warnOf } from './context.ts'
import { diagnoseNode, type Trouble } from './diagnose-node.ts'
import { lookAround, type Surroundings, valueIn } from './look-around.ts'
import { modelUsageOf, modelUsageText } from './model-usage.ts'
import type { Given } from './options.ts'
import { pendingText } from './pending-transactions.ts'

/** Shows the node's state at the ICL, the chain and the providers. Exit code 1 when the operator must act, 75 when all may pass. */
export async function showStatus(flags: Given<'status'>, context: CommandContext): Promise<number> {
  const warn = warnOf(context)
  const loaded = await loadConfig(context.environment, warn, warn)
  const seen = await lookAround(loaded, context)
  const { eligible, takesNone, troubles } = diagnoseNode(seen)
  const { prices } = loaded.config
  const usage = modelUsageOf(await readHistory(historyPathOf(loaded.configPath)), prices)
  const { print } = context
  if (flags.json) {
    print(
      JSON.stringify({
        ...jsonOf(seen, loaded.config.icl_endpoint, eligible, troubles),
        takes_work: !takesNone,
        usage,
      }),
    )
  } else {
    const considered = eligible && takesNone ? 'no, it takes none now' : asked[`${eligible}`]
    const used = usage.map((model): Row => ['Used', modelUsageText(model, prices)])
    for (const [label, text] of [
      ...rowsOf(seen, loaded.config.icl_endpoint, considered),
      ...used,
    ]) {
      print(`${(label === '' ? '' : `${label}:`).padEnd(16)}${text}`)
    }
    for (const { message, remedy } of troubles) {
      print(`! ${message}`)
      if (remedy !== undefined) print(`  -> ${remedy}`)
    }
  }
  if (troubles.length === 0) return exitCodes.done
  return troubles.every(({ retryable }) => retryable)
    ? exitCodes.tryAgain
    : exitCodes.operatorMustAct
}

const manyEvents = 'by more than 1,000 events: svc-node jobs --explain'

type Row = readonly [label: string, text: string]

const asked = { true: 'yes', false: 'no', null: 'unknown, the ICL cannot be reached' }

function rowsOf(seen: Surroundings, icl: string, considered: string): readonly Row[] {
  const { address, certificate, now, network, record, moves, chain, models } = seen
  const known = valueIn(record)
  const named = valueIn(network)
  const reached = named ? `version ${named.version}, chain ${named.chain_id}` : 'cannot be reached'
  const rows: Row[] = [
    ['Address', address],
    ['ICL', `${icl}, ${reached}`],
    ['Gets jobs', considered],
    ...chainRows(valueIn(chain)),
    ...(valueIn(seen.transactions) ?? []).map((one): Row => ['Transaction', pendingText(one)]),
    ...accusationRows(seen),
    ['Certificate', certificateText(certificate, now)],
    ...tpmRows(certificate),
  ]
  for (const { model_id, key_variable, key_needed, key_present } of models) {
    const unset = key_needed ? 'not set' : 'not set, and need not be'
    rows.push(['Model', `${model_id} (${key_variable} is ${key_present ? 'set' : unset})`])
  }
  if (known !== undefined) {
    const { metrics, draw } = known
    const { tasks_completed, tasks_accepted, tasks_rejected, reputation_score } = metrics
    rows.push(
      [
        'Jobs',
        `${tasks_completed} completed, ${tasks_accepted} accepted, ${tasks_rejected} rejected`,
      ],
      ['Reputation', `${reputation_score} of at most 1000`],
      ...(draw && known.active ? [['Share of draws', shareText(draw)] as const] : []),
      ...('value' in moves ? [['Weight moved', moves.value ?? manyEvents] as const] : []),
      ['Heartbeat', heartbeatText(metrics.last_heartbeat, now)],
    )
  }
  return rows
}

function chainRows(chain: RegistryState | undefined): readonly Row[] {
  if (chain === undefined) return [['Chain', 'cannot be reached']]
  const { registration, terms, balance } = chain
  const rows: Row[] = [['Balance', etherText(balance)]]
  if (registration === undefined) {
    const least = `the smallest stake is ${etherText(terms.minStake)}`
    return [...rows, ['Registration', `not registered; ${least}`]]
  }
  const { stake, modelTiers, active, pendingSlashes, slashed } = registration
  const state = active ? 'active' : 'not active'
  rows.push(['Registration', `${state}, tier ${modelTiers.join(', ')}, stake ${etherText(stake)}`])
  const free = freeAt(chain)
  if (free !== undefined) rows.push(['Leaving', `stake free from ${timeText(free)}`])
  if (pendingSlashes > 0 || slashed > 0n) {
    rows.push(['Slashes', `${pendingSlashes} pending, ${etherText(slashed)} lost so far`])
  }
  return rows
}

const accusationRows = ({ accusations }: Surroundings): readonly Row[] =>
  (valueIn(accusations) ?? []).map(({ fault_id, kind, slash }) => [
    'Accused',
    `${kind}, ${etherText(slash?.amount_wei ?? 0n)}, ${slash?.answer_hash === undefined ? 'not answered' : 'answered'}, fault ${fault_id}`,
  ])

function certificateText(certificate: Surroundings['certificate'], now: number): string {
  if (certificate === undefined) return 'none'
  const left = certificate.expires_at - now
  const { backend } = certificate
  return left > 0
    ? `${backend}, valid for ${left} s (${durationText(left)})`
    : `${backend}, expired`
}

/** The TPM's endorsement key and attestation key, as the ICL enrolled them. */
export function tpmRows(certificate: Surroundings['certificate']): readonly Row[] {
  const tpm = certificate && tpmOfCertificate(certificate.certificate)
  if (tpm === undefined) return []
  return [
    ['TPM', `endorsement key ${tpm.ek}`],
    ['', `attestation key ${tpm.ak}`],
  ]
}

const heartbeatText = (at: number, now: number): string =>
  at === 0 ? 'none yet' : `${durationText(now - at)} ago`

function jsonOf(
  {
    address,
    certificate,
    now,
    network,
    record,
    moves,
    chain,
    transactions,
    accusations,
    models,
  }: Surroundings,
  icl: string,
  eligible: boolean | null,
  troubles: readonly Trouble[],
) {
  const known = valueIn(chain)
  return {
    address,
    icl: { url: icl, reachable: 'value' in network },
    eligible,
    chain: (known && chainJson(known)) ?? null,
    transactions: valueIn(transactions) ?? null,
    accusations:
      valueIn(accusations)?.map(({ fault_id, kind, jobId, slash }) => ({
        ...{ fault_id, kind, jobId },
        amount_wei: String(slash?.amount_wei ?? 0n),
        executable_at: slash?.executable_at ?? null,
        answer_hash: slash?.answer_hash ?? null,
      })) ?? null,
    certificate: certificate
      ? {
          backend: certificate.backend,
          expires_at: certificate.expires_at,
          seconds_left: Math.max(0, certificate.expires_at - now),
          tpm: tpmOfCertificate(certificate.certificate) ?? null,
        }
      : null,
    models,
    record: valueIn(record) ?? null,
    weight_moved: valueIn(moves) ?? null,
    troubles,
  }
}

const chainJson = (state: RegistryState) => ({
  balance_wei: String(state.balance),
  min_stake_wei: String(state.terms.minStake),
  ...registrationJson(state.registration),
  withdrawable_at: freeAt(state) ?? null,
  pending_slashes: state.registration?.pendingSlashes ?? 0,
  slashed_wei: String(state.registration?.slashed ?? 0n),
})
