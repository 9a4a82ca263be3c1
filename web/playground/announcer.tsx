import type { Run } from './run-state.ts'
import { stepWords } from './step-words.ts'

/** Returns what a screen reader says during a run. */
function announcementOf(run: Run | undefined): string {
  // A failure is announced where it is shown.
  if (run === undefined || run.status === 'failed') return ''
  if (run.inference?.status === 'accepted') {
    const passed = run.checks.filter((check) => check.passed).length
    return `The answer is there. ${passed} of ${run.checks.length} checks of its receipt passed.`
  }
  const index = run.steps.findIndex(({ status }) => status === 'running')
  const step = run.steps[index]
  if (step === undefined) return run.preparing ?? ''
  return `Step ${index + 1} of ${run.steps.length}: ${stepWords[step.step].title}`
}

/** Announces a run's progress to screen readers only. */
export function Announcer({ run }: { readonly run: Run | undefined }) {
  return (
    <p class="unseen" role="status">
      {announcementOf(run)}
    </p>
  )
}
