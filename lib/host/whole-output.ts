/** A stream that says when it has taken what was written: leaving before would cut off what a pipe has no room for yet. */
export type WholeOutput = {
  /** Resolves once the text has left this process; rejects with the stream's error. */
  readonly write: (text: string) => Promise<void>
  /** Everything that was written so far. */
  readonly written: () => Promise<void>
  readonly isTTY: boolean
  readonly columns: number
}

/** Makes an output of a stream; nobody has to wait for its writes, or to hear that they fail. */
export function wholeOutput(stream: NodeJS.WriteStream): WholeOutput {
  let last = Promise.resolve()
  return {
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns || 80
    },
    written: () => last,
    write: (text) => {
      // An empty write is acknowledged at once, whatever waits before it.
      if (text === '') return last
      last = new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()))
      })
      last.catch(() => {})
      return last
    },
  }
}
