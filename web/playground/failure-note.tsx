import type { Failure } from './run-state.ts'
import { useReveal } from './use-reveal.ts'

/** Shows what went wrong, and what to do about it. */
export function FailureNote({ failure }: { readonly failure: Failure }) {
  const isWish = failure.code === 'cancelled'
  return (
    <section
      ref={useReveal()}
      class={isWish ? 'note' : 'note bad'}
      role={isWish ? 'status' : 'alert'}
    >
      <h2>{failure.message}</h2>
      <p>{failure.hint}</p>
      {!isWish && (
        <p class="fine">
          <code>{failure.code}</code>
        </p>
      )}
    </section>
  )
}
