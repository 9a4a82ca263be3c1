let isSpecified = false

/**
 * Has `finally` of a promise take as many turns of the queue as the language says, in the whole process: Bun takes a shorter way
 * (2 instead of 4), so that work of one moment comes in another order there than on Node and Deno.
 */
export function specifyFinally(): void {
  if (isSpecified) return
  isSpecified = true
  const method = {
    finally<T>(this: Promise<T>, onFinally?: (() => unknown) | null): Promise<T> {
      if (typeof onFinally !== 'function') return this.then(onFinally, onFinally)
      return this.then(
        (value) => Promise.resolve(onFinally()).then(() => value),
        (error: unknown) =>
          Promise.resolve(onFinally()).then(() => {
            throw error
          }),
      )
    },
  }
  Object.defineProperty(Promise.prototype, 'finally', {
    ...Object.getOwnPropertyDescriptor(Promise.prototype, 'finally'),
    value: method.finally,
  })
}
