/** What a call is to do: events in order, each as `Name(argument,...)`, or the name of the error it reverts with. */
export type Outcome =
  | { readonly kind: 'done'; readonly events: readonly string[] }
  | { readonly kind: 'reverted'; readonly error: string }

/** A revert of the model. */
export class Reverted extends Error {
  readonly error: string
  constructor(error: string) {
    super(error)
    this.error = error
  }
}

/** What a revert without a reason is called. */
export const noReason = '(no reason)'

/** Any value of an event as text: numbers in decimal, hex in lower case. */
export const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`
  return String(value).toLowerCase()
}

/** An event as text. */
export const eventText = (name: string, args: readonly unknown[]): string =>
  `${name}(${args.map(textOf).join(',')})`

/** Collects events, and makes an outcome of what work does. */
export type Recorder = {
  emit(name: string, ...args: readonly unknown[]): void
  outcomeOf(work: () => void): Outcome
}

/** Makes a recorder. */
export const createRecorder = (): Recorder => {
  let events: string[] = []
  return {
    emit: (name, ...args) => events.push(eventText(name, args)),
    outcomeOf: (work) => {
      events = []
      try {
        work()
        return { kind: 'done', events }
      } catch (error) {
        if (error instanceof Reverted) return { kind: 'reverted', error: error.error }
        throw error
      }
    },
  }
}
