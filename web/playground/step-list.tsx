import { useEffect, useState } from 'preact/hooks'
import { NodeTable } from './node-table.tsx'
import { newRun, type Run, type StepState } from './run-state.ts'
import { stepWords } from './step-words.ts'
import { useReveal } from './use-reveal.ts'

const frameMs = 100
const waiting = newRun().steps

/** Formats milliseconds for people. */
export const secondsOf = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`

const marks = {
  waiting: { sign: '', words: 'not yet' },
  running: { sign: '', words: 'running' },
  done: { sign: '✓', words: 'done' },
  failed: { sign: '✕', words: 'failed' },
} as const

/** Shows each step of the run with its status, and the nodes' progress below theirs. */
export function StepList({ run }: { readonly run: Run | undefined }) {
  const steps = run?.steps ?? waiting
  const isRunning = run?.status === 'running'
  return (
    <section
      ref={useReveal(isRunning)}
      class="panel progress"
      aria-labelledby="steps-title"
      aria-busy={isRunning}
    >
      <h2 id="steps-title">What happens</h2>
      {run?.preparing !== undefined && isRunning && <p class="preparing">{run.preparing}…</p>}
      <ol class="steps">
        {steps.map((state) => (
          <Step key={state.step} state={state} run={run} />
        ))}
      </ol>
      {run?.jobId !== undefined && (
        <p class="fine">
          Job <code>{run.jobId}</code>
        </p>
      )}
    </section>
  )
}

function Step({ state, run }: { readonly state: StepState; readonly run: Run | undefined }) {
  const { step, status, details } = state
  const { title, purpose } = stepWords[step]
  const isNodes = step === 'inference'
  return (
    <li class={`step ${status}`} data-step={step} data-status={status}>
      <span class="mark" aria-hidden="true">
        {marks[status].sign}
      </span>
      <div class="words">
        <span class="title">{title}</span>
        <span class="unseen">, {marks[status].words}</span>
        <span class="purpose">{details.length > 0 ? details.join(' · ') : purpose}</span>
        {step === 'encrypt-key' && status === 'done' && run?.longestPauseMs !== undefined && (
          <span class="purpose" data-longest-pause-ms={run.longestPauseMs}>
            Longest pause of this page meanwhile: {secondsOf(run.longestPauseMs)}
          </span>
        )}
        {isNodes && run !== undefined && run.events.length > 0 && <NodeTable run={run} />}
      </div>
      <StepTime state={state} />
    </li>
  )
}

/** Shows the time of a step, for a running one so far. */
function StepTime({ state: { status, startedAtMs, elapsedMs } }: { readonly state: StepState }) {
  const [, redraw] = useState(0)
  const isRunning = status === 'running'
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => redraw((count) => count + 1), frameMs)
    return () => clearInterval(timer)
  }, [isRunning])
  const ms = isRunning ? performance.now() - (startedAtMs ?? performance.now()) : elapsedMs
  return <span class="time">{ms === undefined ? '' : secondsOf(ms)}</span>
}
