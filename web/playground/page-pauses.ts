const beatMs = 10

/** Watches how long this thread stands still at most; `stop` ends it and gives the longest gap between two beats, in milliseconds. */
export function watchPauses(now: () => number = () => performance.now()): {
  readonly stop: () => number
} {
  let last = now()
  let longest = 0
  const beat = () => {
    const present = now()
    // A page that nobody sees gets few beats, whatever it does.
    if (!document.hidden) longest = Math.max(longest, present - last)
    last = present
  }
  const timer = setInterval(beat, beatMs)
  return {
    stop: () => {
      beat()
      clearInterval(timer)
      return longest
    },
  }
}
