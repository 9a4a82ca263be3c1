import type { Terminal } from '../../lib/host/password.ts'
import { printable } from '../../lib/host/printable.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** One of the answers to choose from. */
type Choice<T> = { readonly value: T; readonly label: string; readonly hint?: string }

type Check = (text: string) => string | undefined

/** Asks an operator. Every question throws SvcError `interrupted` on Ctrl-C, on Ctrl-D, and at the end of the input. */
export interface Prompts {
  text(question: {
    readonly message: string
    readonly initial?: string | undefined
    readonly placeholder?: string
    /** Returns what is wrong with an answer. */
    readonly check?: Check
  }): Promise<string>
  password(question: { readonly message: string; readonly check?: Check }): Promise<string>
  confirm(message: string, initial?: boolean): Promise<boolean>
  select<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T>
  /** Shows a text between questions. */
  say(message: string): void
  /** Shows what is wrong with an answer. */
  complain(message: string): void
  /** Runs work that takes a while. Ctrl-C aborts its signal. */
  wait<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

const interrupted = (): SvcError =>
  new SvcError('interrupted', 'interrupted', { hint: 'Nothing more was done. Start it again.' })

/** Asks on a terminal. The questions go to standard error, so that standard output has only results. */
export async function createPrompts({ input, output }: Terminal): Promise<Prompts> {
  const clack = await import('@clack/prompts')
  const io = { input, output }
  // The library ends a question on Ctrl-C only. After Ctrl-D, or at the end of its input, it would wait for ever.
  const answered = async <T>(
    ask: (signal: AbortSignal) => Promise<T | typeof clack.CANCEL_SYMBOL>,
  ): Promise<T> => {
    const ended = new AbortController()
    const onEnd = () => ended.abort()
    const onKey = (_: unknown, key: { ctrl?: boolean; name?: string } | undefined) => {
      if (key?.ctrl && key.name === 'd') onEnd()
    }
    input.on('keypress', onKey).once('end', onEnd)
    try {
      const value = await ask(ended.signal)
      if (clack.isCancel(value)) throw interrupted()
      return value
    } finally {
      input.off('keypress', onKey).off('end', onEnd)
    }
  }
  const validating = (check: Check | undefined) => ({
    ...(check && { validate: (text: string | undefined) => check(text ?? '') }),
  })
  return {
    text: ({ message, initial, placeholder, check }) =>
      answered((signal) =>
        clack.text({
          ...io,
          signal,
          message,
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
          ...validating(check),
        }),
      ),
    password: ({ message, check }) =>
      answered((signal) => clack.password({ ...io, signal, message, ...validating(check) })),
    confirm: (message, initial = true) =>
      answered((signal) => clack.confirm({ ...io, signal, message, initialValue: initial })),
    select: async (message, choices) => {
      const options = choices.map((choice) => ({ ...choice }))
      return (await answered((signal) =>
        clack.select<string>({ ...io, signal, message, options }),
      )) as (typeof choices)[number]['value']
    },
    say: (message) => clack.log.info(printable(message), io),
    complain: (message) => clack.log.error(printable(message), io),
    // The library's own spinner would exit with 0 on Ctrl-C.
    wait: async (message, work) => {
      const stop = new AbortController()
      const onInterrupt = () => stop.abort(interrupted())
      process.once('SIGINT', onInterrupt)
      try {
        // Last, because the operator may press Ctrl-C as soon as the text is there.
        clack.log.step(printable(message), io)
        return await work(stop.signal)
      } finally {
        process.off('SIGINT', onInterrupt)
      }
    },
  }
}

/** Asks for a confirmation. Without a terminal `--yes` must give it. Throws SvcError `usage` or `interrupted`. */
export async function confirmed(
  isInteractive: boolean,
  flags: { readonly yes?: boolean },
  terminal: Terminal,
  message: string,
): Promise<void> {
  if (flags.yes) return
  if (!isInteractive) {
    throw new SvcError('usage', `this has to be confirmed: ${message}`, {
      hint: 'Start it on a terminal without --json, or with --yes.',
    })
  }
  const prompts = await createPrompts(terminal)
  if (!(await prompts.confirm(message))) throw interrupted()
}
