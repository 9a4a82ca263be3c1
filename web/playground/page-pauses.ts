const beatMs = 10

/** Measures the longest pause of this thread. `stop` ends it and returns the longest gap between two timer ticks, in milliseconds. */
export function watchPauses(): { readonly stop: () => number } {
  let last = performance.now()
  let longest = 0
  const beat = () => {
    const present = performance.now()
    // A hidden page gets few ticks in any case.
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
