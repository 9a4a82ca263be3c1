import { SvcError } from '../../lib/svc-error.ts'
import { freeAt, type RegistryState } from '../chain/registry.ts'
import { durationText, etherText, timeText } from './amounts.ts'
import { type AtRegistry, atRegistry } from './at-registry.ts'
import { type CommandContext, warnOf } from './context.ts'
import type { Given } from './options.ts'
import { confirmed } from './prompts.ts'
import { stepText } from './register.ts'

type Step = 'beginUnbonding' | 'withdraw'

/** Starts unbonding, says when the stake is free, and withdraws it then. Idempotent. Throws SvcErrors. */
export async function unregister(
  flags: Given<'unregister'>,
  context: CommandContext,
): Promise<undefined> {
  await atRegistry(context, (at) => leave(at, flags, context))
}

async function leave(
  { address, place, registersItself, readSettled, read, send }: AtRegistry,
  flags: Given<'unregister'>,
  context: CommandContext,
): Promise<void> {
  const state = await readSettled()
  const step = nextStep(state, flags.withdraw === true)
  let tx: string | undefined
  if (step !== undefined) {
    const { stake = 0n } = state.registration ?? {}
    const what = `${stepText({ call: step })} of ${etherText(stake)}`
    const consequence =
      step === 'withdraw'
        ? 'the node is no longer registered then'
        : `the node gets no jobs from now on, and the stake is free in ${durationText(state.terms.unbondingSeconds)}`
    const message = `${what.charAt(0).toUpperCase()}${what.slice(1)} (${address} on chain ${place.chainId})? ${consequence}`
    await confirmed(context, flags, message)
    tx = await send({ call: step })
    const tell = flags.json ? context.warn : context.print
    tell(`Done: ${what}, transaction ${tx}`)
  }
  const now = step === undefined ? state : await read()
  report(address, now, tx, flags, context)
  if (registersItself)
    warnOf(context)(
      'once the stake is withdrawn, the next start of `svc-node run` registers the wallet again: set register_up_to (SVC_REGISTER_UP_TO) to 0 first',
    )
}

/** Returns the transaction to send now, undefined for none. Throws SvcError when the wanted one is not possible. */
function nextStep(state: RegistryState, onlyWithdraw: boolean): Step | undefined {
  const { registration, terms } = state
  if (registration === undefined) return undefined
  const free = freeAt(state)
  if (free === undefined) {
    if (!onlyWithdraw) return 'beginUnbonding'
    throw new SvcError('not-unbonding', 'the stake is not unbonding', {
      hint: 'Run `svc-node unregister` first. It says when the stake can be withdrawn.',
    })
  }
  if (registration.pendingSlashes > 0 && terms.now >= free) {
    throw new SvcError('stake-frozen', 'the stake is frozen while an accusation is pending', {
      hint: 'Answer it in NodeRegistry. Try again when it is settled.',
      retryable: true,
    })
  }
  if (terms.now >= free) return 'withdraw'
  if (!onlyWithdraw) return undefined
  throw new SvcError('too-early', `the stake is free from ${timeText(free)}`, {
    hint: `Try again in ${durationText(free - terms.now)}.`,
    retryable: true,
  })
}

function report(
  address: string,
  state: RegistryState,
  tx: string | undefined,
  { json }: Given<'unregister'>,
  { print }: CommandContext,
): void {
  const free = freeAt(state)
  const { registration, terms } = state
  if (json) {
    print(
      JSON.stringify({
        address,
        registered: registration !== undefined,
        stake_wei: String(registration?.stake ?? 0n),
        withdrawable_at: free ?? null,
        transaction: tx ?? null,
      }),
    )
    return
  }
  if (registration === undefined) print(`${address} is not registered.`)
  if (registration === undefined || free === undefined) return
  print(
    `${address} is leaving: its stake of ${etherText(registration.stake)} is free from ${timeText(free)} (in ${durationText(free - terms.now)}).`,
  )
  print('Then: svc-node unregister --withdraw. To stay after all: svc-node register')
}
