import type { Terminal } from '../../lib/host/password.ts'
import { printable, printableLine } from '../../lib/printable.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type CommandContext, isInteractive, type Unasked } from './context.ts'

/** One of the answers to choose from. */
type Choice = { readonly value: string; readonly label: string; readonly hint?: string }

type Check = (text: string) => string | undefined

/** Asks an operator. Every question throws SvcError `interrupted` on Ctrl-C, on Ctrl-D, and at the end of the input. */
export type Prompts = Awaited<ReturnType<typeof createPrompts>>

const interrupted = (): SvcError =>
  new SvcError('interrupted', 'interrupted', { hint: 'Nothing more was done. Start it again.' })

/** Asks on a terminal. The questions go to standard error, so that standard output has only results. */
export async function createPrompts({ input, output }: Terminal) {
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
  /** A `check` returns what is wrong with an answer. */
  const validating = (check: Check | undefined) => ({
    ...(check && { validate: (text: string | undefined) => check(text ?? '') }),
  })
  return {
    text: (question: {
      readonly message: string
      readonly initial?: string | undefined
      readonly placeholder?: string
      /** The answer of an operator who types nothing. It is shown as the placeholder. */
      readonly otherwise?: string
      readonly check?: Check
    }): Promise<string> => {
      const { message, initial, otherwise, placeholder = otherwise, check } = question
      return answered((signal) =>
        clack.text({
          ...{ ...io, signal, message },
          ...validating(check && ((text) => check(text || (otherwise ?? '')))),
          ...(otherwise !== undefined && { defaultValue: otherwise }),
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
        }),
      )
    },
    password: ({ message, check }: { readonly message: string; readonly check?: Check }) =>
      answered((signal) => clack.password({ ...io, signal, message, ...validating(check) })),
    confirm: (message: string, initialValue = true): Promise<boolean> =>
      answered((signal) => clack.confirm({ ...io, signal, message, initialValue })),
    select: (message: string, choices: readonly Choice[]): Promise<string> =>
      answered((signal) => clack.select<string>({ ...io, signal, message, options: [...choices] })),
    /** Shows lines between questions. */
    say: (...lines: readonly string[]) => clack.log.info(lines.map(printableLine).join('\n'), io),
    /** Shows what is wrong with an answer. */
    complain: (message: string) => clack.log.error(printable(message), io),
    /** Runs work that takes a while. Ctrl-C aborts its signal. The library's own spinner would exit with 0 on Ctrl-C. */
    wait: async <T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
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
  context: CommandContext,
  flags: Unasked,
  message: string,
): Promise<void> {
  if (flags.yes) return
  if (!isInteractive(context, flags)) {
    throw new SvcError('usage', `this has to be confirmed: ${message}`, {
      hint: 'Start it on a terminal without --json, or with --yes.',
    })
  }
  const prompts = await createPrompts(context.terminal)
  if (!(await prompts.confirm(message))) throw interrupted()
}
