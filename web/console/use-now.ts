import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

const tickMs = 5_000

/** The ICL's time in Unix seconds. Ages use it, since the reader's clock may be wrong. */
export const Now = createContext(0)
export const useNow = (): number => useContext(Now)

/** Returns the ICL's time, advanced every few seconds from the last one that it sent. */
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
