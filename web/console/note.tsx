import type { ComponentChildren } from 'preact'
import type { Loaded } from './use-loaded.ts'

/** Says that something is being read, or why it could not be. */
export function LoadNote({ loaded, what }: { loaded: Loaded<unknown>; what: string }) {
  if (loaded.error !== undefined) {
    return (
      <p class="note bad" role="alert">
        {what} cannot be shown: {loaded.error}
      </p>
    )
  }
  return loaded.value === undefined ? <p class="note">Reading {what.toLowerCase()} …</p> : null
}

/** What stands where a list has nothing. */
export const Empty = ({ children }: { children: ComponentChildren }) => (
  <p class="note">{children}</p>
)

/** One line of a list of facts; nothing when there is no value. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  if (children === undefined || children === false || children === '' || children === 0) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
