import { abortable } from '../../lib/chain/abortable.ts'
import { describeLeftOut } from '../../lib/client/compare-pool.ts'
import {
  type AcceptedInference,
  GoesOnError,
  inferenceError,
  UncommittedError,
} from '../../lib/client/inference.ts'
import type { StepNews } from '../../lib/client/steps.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { mockChainId } from './chains.ts'
import type { Connection } from './connect.ts'
import { watchPauses } from './page-pauses.ts'
import { checkReceipt } from './receipt-checks.ts'
import type { Failure, RunNews } from './run-state.ts'

/** The user's request. */
export type Wish = {
  readonly prompt: string
  readonly model: string
  readonly quorum: number
  readonly maxOutputTokens: number
}

/** Returns a failure for the page; `cancelled` when the user cancelled. */
export function failureOf(error: unknown, signal: AbortSignal): Failure {
  if (signal.aborted && error instanceof GoesOnError) {
    const { jobId, hint } = error
    return { code: 'cancelled', message: `Too late to cancel: the job ${jobId} continues`, hint }
  }
  if (signal.aborted) {
    const hint =
      'If its job was submitted, the ICL has been asked to cancel it. Run the prompt again whenever you like.'
    return { code: 'cancelled', message: 'Cancelled', hint }
  }
  if (error instanceof SvcError) {
    const { code, message, hint } = error
    return { code, message, hint }
  }
  const message = errorMessage(error)
  return { code: 'failed', message, hint: 'Reload the page and try again.' }
}

/** Runs a prompt and reports every event of it; never rejects. */
export async function runInference(
  connecting: Promise<Connection>,
  { prompt, model, quorum, maxOutputTokens }: Wish,
  tell: (news: RunNews) => void,
  signal: AbortSignal,
): Promise<void> {
  let pauses: ReturnType<typeof watchPauses> | undefined
  let makesProofs = false
  let answered: AcceptedInference | undefined
  const onStep = (news: StepNews) => {
    const isEncryption = news.step === 'encrypt-key'
    // Without a proof, its steps mean nothing.
    if (isEncryption && news.phase === 'progress' && !makesProofs) return
    tell({ kind: 'step', news, nowMs: performance.now() })
    if (!(isEncryption && makesProofs)) return
    if (news.phase === 'start') pauses = watchPauses()
    if ((news.phase === 'end' || news.phase === 'failed') && pauses)
      tell({ kind: 'pause', longestMs: pauses.stop() })
  }
  try {
    // A wallet may wait for its user without a limit.
    const { client } = await abortable(connecting, signal)
    makesProofs = client.network.chain_id !== mockChainId
    const inference = await client.infer(prompt, {
      model,
      verifierCount: quorum - 1,
      parameters: { max_output_tokens: maxOutputTokens },
      onStep,
      onPool: (compared) => {
        const detail = describeLeftOut(compared) ?? `it has all ${compared.active} active nodes`
        onStep({ step: 'preview', phase: 'progress', elapsedMs: 0, detail })
      },
      onNotReopened: () => tell({ kind: 'not-reopened' }),
      onSubmitted: ({ jobId }) => tell({ kind: 'submitted', jobId }),
      onEvent: (event) => tell({ kind: 'event', event }),
      signal,
    })
    if (inference.status !== 'accepted') {
      const failure = failureOf(inferenceError(inference), signal)
      tell({ kind: 'ended', inference, checks: [], failure })
      return
    }
    answered = inference
    tell({ kind: 'preparing', what: 'Checking the receipt again, part by part' })
    const checks = await checkReceipt(client, inference, signal)
    tell({ kind: 'ended', inference, checks, failure: undefined })
  } catch (error) {
    // A paid answer that has been checked once is shown in any case.
    const inference = error instanceof UncommittedError ? error.inference : answered
    const failure = failureOf(error, signal)
    tell({ kind: 'failed', failure, inference, nowMs: performance.now() })
  } finally {
    pauses?.stop()
  }
}
