import type { ComponentChildren } from 'preact'
import { fullTime, span } from './format.ts'
import type { Loaded } from './use-loaded.ts'
import { useNow } from './use-now.ts'

/** Says that something is loading, or why it failed. */
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

/** Shown in place of an empty list. */
export const Empty = ({ children }: { children: ComponentChildren }) => (
  <p class="note">{children}</p>
)

/** A time in Unix seconds, which is shown when the mouse is over its text. */
export const Time = ({ at, children }: { at: number; children: ComponentChildren }) => (
  <time dateTime={fullTime(at)} title={fullTime(at)}>
    {children}
  </time>
)

/** How long ago a time was. */
export const Ago = ({ at }: { at: number }) => <Time at={at}>{span(useNow() - at)} ago</Time>

/** One line of a list of facts; nothing without a value. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  if (children === undefined || children === false || children === '' || children === 0) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
