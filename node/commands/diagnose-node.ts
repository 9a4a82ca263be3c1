import { explainError } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { fewAnswers } from '../chain/chain.ts'
import { deliveryGas, type RegistryState } from '../chain/registry.ts'
import { passesByItself, reasonsOf, remedies } from '../eligibility.ts'
import { etherText, timeText, toSend } from './amounts.ts'
import { type Answer, type Surroundings, valueIn } from './look-around.ts'
import { stuckRemedy } from './pending-transactions.ts'

/** A reason for which the node does not work, and its remedy. */
export type Trouble = {
  readonly code: string
  readonly message: string
  readonly remedy?: string | undefined
  /** Whether it may pass without the operator. */
  readonly retryable: boolean
}

/** Gas that a node should always be able to pay for. */
export const workingGas = BigInt(fewAnswers) * deliveryGas

/** Returns whether the ICL considers the node, null when it cannot be asked, whether the daemon takes no work all the same, and all troubles. */
export function diagnoseNode(seen: Surroundings): {
  readonly eligible: boolean | null
  readonly takesNone: boolean
  readonly troubles: readonly Trouble[]
} {
  const { network, record, chain, inStep, disk, journal } = seen
  const troubles = [network, record, disk, journal].flatMap((answer) => unreached(answer))
  troubles.push(...unreached(chain, 'icl-needed'), ...unreached(inStep), ...stuck(seen))
  if (seen.certificate === undefined) troubles.push(notAttested)
  troubles.push(...poverty(seen), ...missingKeys(seen), ...unanswered(seen))
  const eligible = 'error' in record ? null : (record.value?.active ?? false)
  if (eligible !== true) troubles.push(...ineligibility(seen))
  const codes = troubles.map(({ code }) => code)
  const takesNone = 'error' in disk || isPenniless(valueIn(chain))
  const found = troubles.filter(({ code }, at) => codes.indexOf(code) === at)
  return { eligible, takesNone, troubles: found }
}

/** True for a wallet that cannot pay for one answer. */
const isPenniless = (chain: RegistryState | undefined): boolean =>
  chain !== undefined && chain.balance < deliveryGas * chain.terms.gasPrice

const notAttested: Trouble = {
  code: 'not-attested',
  message: 'this node was never attested with this ICL',
  remedy: 'Run `svc-node attest`.',
  retryable: false,
}

// Polls and an announced stop are not visible from outside.
const notWorking: Trouble = {
  code: 'no-recent-poll',
  message: 'it is starting, stopping, or not polling for assignments',
  remedy: 'Try again in a minute. Start `svc-node run` if it is not running, else see its log.',
  retryable: true,
}

/** A transaction that waits holds up all later ones. */
function stuck({ transactions }: Surroundings): readonly Trouble[] {
  const pending = valueIn(transactions) ?? []
  const remedy = stuckRemedy(pending)
  if (remedy === undefined) return unreached(transactions)
  const message = `${pending.length} of the wallet's transactions wait for a block, and each answer needs one`
  return [{ code: 'transactions-pending', message, remedy, retryable: true }]
}

/** Accusations that the operator has not answered yet. */
const unanswered = ({ accusations }: Surroundings): readonly Trouble[] =>
  (valueIn(accusations) ?? [])
    .filter(({ slash }) => slash?.answer_hash === undefined)
    .map(({ fault_id, kind, jobId, slash }) => ({
      code: `accused-${fault_id}`,
      message: `this node is accused on chain of "${kind}" in job ${jobId}${whenTaken(slash?.executable_at)}`,
      remedy: `Answer with \`svc-node answer ${fault_id} --file PATH\`, and send the answer to the arbiter.`,
      retryable: false,
    }))

const whenTaken = (at: number | undefined): string =>
  at === undefined ? '' : `; its stake can be taken from ${timeText(at)}`

function unreached(answer: Answer<unknown>, expected?: string): readonly Trouble[] {
  if (!('error' in answer)) return []
  const { error } = answer
  const known = error instanceof SvcError || error instanceof ProblemError
  if (known && error.code === expected) return []
  const { message, hint } = explainError(error)
  return [
    {
      code: known ? error.code : 'unexpected',
      message,
      remedy: hint,
      retryable: known && error.retryable,
    },
  ]
}

/** Why the ICL does not consider the node, as far as that is visible from outside. */
function ineligibility({
  now,
  certificate,
  record,
  chain,
  models,
}: Surroundings): readonly Trouble[] {
  const known = valueIn(record)
  // Without an attestation the ICL knows nothing else of the node.
  if (certificate === undefined) return registrationOnly(chain)
  if ('value' in record && known === undefined) {
    const message = 'the ICL does not know this node (any more)'
    return [{ ...notAttested, message }, ...registrationOnly(chain)]
  }
  const reasons = reasonsOf({
    now,
    registration: 'value' in chain ? (chain.value.registration ?? 'not-registered') : undefined,
    certificateExpiresAt: certificate.expires_at,
    backend: certificate.backend,
    servedTiers: known?.model_tiers,
    // Unknown while the ICL is away.
    lastHeartbeat: known?.metrics.last_heartbeat ?? now,
    offersModel: models.some(isOffered),
  })
  if (reasons.length === 0 && known !== undefined) return [notWorking]
  return reasons.map((reason) => ({
    code: reason,
    message: remedies[reason],
    retryable: passesByItself(reason),
  }))
}

function registrationOnly(chain: Surroundings['chain']): readonly Trouble[] {
  const known = valueIn(chain)
  if (known === undefined || known.registration !== undefined) return []
  return [{ code: 'not-registered', message: remedies['not-registered'], retryable: false }]
}

function poverty({ chain, address }: Surroundings): readonly Trouble[] {
  const known = valueIn(chain)
  if (known === undefined) return []
  const { balance, terms, registration } = known
  const needed = workingGas * terms.gasPrice
  if (balance >= needed) return []
  const forStake = registration === undefined ? terms.minStake : 0n
  return [
    {
      code: 'unfunded',
      message: `the wallet has ${etherText(balance)}, ${isPenniless(known) ? 'too little for one answer, and takes no work' : 'too little to pay for heartbeats and answers'}`,
      remedy: `Send ${etherText(toSend(needed + forStake - balance))} or more to ${address}.`,
      retryable: false,
    },
  ]
}

const isOffered = ({ key_needed, key_present }: Surroundings['models'][number]): boolean =>
  key_present || !key_needed

function missingKeys({ models }: Surroundings): readonly Trouble[] {
  const missing = models.filter((model) => !isOffered(model))
  if (missing.length === 0 || missing.length < models.length) return []
  const variables = [...new Set(missing.map(({ key_variable }) => key_variable))]
  return [
    {
      code: 'no-model',
      message: 'no model can be offered: there is no provider key',
      remedy: `Set ${variables.join(' or ')}.`,
      retryable: false,
    },
  ]
}
