/** A stream that reports when it has taken what was written. A process that exits earlier truncates what is still to go into a pipe. */
export type WholeOutput = {
  /** Resolves once the text has left this process; rejects with the stream's error. */
  readonly write: (text: string) => Promise<void>
  /** Resolves once everything written so far has left this process. */
  readonly written: () => Promise<void>
  readonly isTTY: boolean
  readonly columns: number
}

const known = new WeakMap<NodeJS.WriteStream, WholeOutput>()

/** Wraps a stream, each in one object. Callers need not await its writes or handle their errors. */
export function wholeOutput(stream: NodeJS.WriteStream): WholeOutput {
  const output = known.get(stream) ?? wrapped(stream)
  known.set(stream, output)
  return output
}

function wrapped(stream: NodeJS.WriteStream): WholeOutput {
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
      // A stream acknowledges an empty write at once, whatever waits before it.
      if (text === '') return last
      last = new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()))
      })
      last.catch(() => {})
      return last
    },
  }
}
