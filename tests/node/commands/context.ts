import { systemClock, systemRandom } from '../../../lib/system.ts'
import type { CommandContext } from '../../../node/commands/context.ts'
import { type Given, options } from '../../../node/commands/options.ts'
import { checkReceipt } from '../../../node/commands/receipt.ts'

/** A command's context in this process, where nobody can be asked; what it prints is kept. */
export function quietContext(
  environment: Record<string, string>,
  changes: Partial<CommandContext> = {},
): CommandContext & { readonly printed: string[]; readonly warned: string[] } {
  const printed: string[] = []
  const warned: string[] = []
  const output = { isTTY: false, write: (text: string) => warned.push(text.trimEnd()) }
  return {
    environment,
    terminal: { input: { isTTY: false }, output } as unknown as CommandContext['terminal'],
    fetch: (request) => fetch(request),
    clock: systemClock,
    random: systemRandom,
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    printed,
    warned,
    ...changes,
  }
}

/** Runs `receipt verify` with some of its options. */
export const checkFile = (
  file: string,
  given: Partial<Given<'receipt'>>,
  context: CommandContext,
): Promise<number> => checkReceipt({ ...options.receipt.parse({}), ...given, file }, context)
