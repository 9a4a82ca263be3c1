import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

const tickMs = 5_000

/** The ICL's time in Unix seconds: ages are by its clock, whatever the reader's own says. */
export const Now = createContext(0)
export const useNow = (): number => useContext(Now)

/** The ICL's time, moved on every few seconds from what it said last. */
export function useTicking(at: number | undefined): number {
  const [heard, setHeard] = useState({ at: 0, by: 0 })
  const [now, setNow] = useState(0)
  useEffect(() => {
    if (at !== undefined) setHeard({ at, by: Date.now() })
  }, [at])
  useEffect(() => {
    const tick = () => setNow(heard.at + Math.floor((Date.now() - heard.by) / 1000))
    tick()
    const timer = setInterval(tick, tickMs)
    return () => clearInterval(timer)
  }, [heard])
  return now || heard.at || (at ?? 0)
}
