import { useEffect, useRef } from 'preact/hooks'

/** Moves the focus to a heading when it appears, so that a screen reader says what was opened. */
export function useFocus<T extends HTMLElement>() {
  const element = useRef<T>(null)
  useEffect(() => element.current?.focus(), [])
  return element
}
