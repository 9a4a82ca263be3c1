import { z } from 'zod'
import { option } from '../../lib/host/program/option.ts'
import { command } from '../../lib/host/program/program.ts'
import type { CommandContext } from './context.ts'
import { options } from './options.ts'

/** Checks receipts. The only command that needs no node. */
export const receiptCommand = command({
  name: 'receipt verify',
  summary: 'Check a receipt, without a network or also against the chain',
  args: z.object({ file: option(z.string(), 'FILE', 'The receipt') }),
  options: options.receipt,
  run: async (given, context: CommandContext) =>
    (await import('./receipt.ts')).checkReceipt(given, context),
})
