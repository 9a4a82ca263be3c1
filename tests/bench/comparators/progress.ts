const width = 40
const shownEveryMs = 200

/** A bar on the terminal's error output while something works; nothing where that is no terminal. */
export function progressBar(
  what: string,
  out: Pick<NodeJS.WriteStream, 'write' | 'isTTY'> = process.stderr,
): (share: number) => void {
  let shownAt = 0
  return (share) => {
    if (!out.isTTY) return
    const now = performance.now()
    if (share < 1 && now - shownAt < shownEveryMs) return
    shownAt = now
    const filled = Math.round(share * width)
    const bar = '#'.repeat(filled) + '.'.repeat(width - filled)
    out.write(`\r${what} [${bar}] ${(100 * share).toFixed(0)} %${share >= 1 ? '\n' : ''}`)
  }
}
