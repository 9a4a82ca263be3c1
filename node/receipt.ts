// The command that only checks receipts, packed for users who run no node.
import { runCommandLine } from './command-line.ts'
import { receiptCommand } from './commands/receipt-command.ts'

declare const SVC_PACKAGE: string

await runCommandLine(SVC_PACKAGE, [receiptCommand])
