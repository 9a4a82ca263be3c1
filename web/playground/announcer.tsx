import type { Run } from './run-state.ts'
import { stepWords } from './step-words.ts'

/** What a screen reader says as a run goes on. */
function announcementOf(run: Run | undefined): string {
  if (run === undefined) return ''
  if (run.inference?.status === 'accepted') {
    const passed = run.checks.filter((check) => check.passed).length
    return `The answer is there. ${passed} of ${run.checks.length} checks of its receipt passed.`
  }
  // Failures are told where they are shown.
  if (run.status === 'failed') return ''
  const index = run.steps.findIndex(({ status }) => status === 'running')
  const step = run.steps[index]
  if (step === undefined) return run.preparing ?? ''
  return `Step ${index + 1} of ${run.steps.length}: ${stepWords[step.step].title}`
}

/** Tells how far a run is without showing it. */
export function Announcer({ run }: { readonly run: Run | undefined }) {
  return (
    <p class="hidden" role="status">
      {announcementOf(run)}
    </p>
  )
}
