import { useEffect, useRef } from 'preact/hooks'

/** Returns a ref to a part of the page that is brought into view on a narrow page, where others hide it: once it is there and `isDue`. */
export function useReveal(isDue = true) {
  const part = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isDue && matchMedia('(width < 60rem)').matches) part.current?.scrollIntoView()
  }, [isDue])
  return part
}
