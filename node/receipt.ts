// The command that checks receipts by itself, as it is packed for users who run no node.
import { runCommandLine } from './command-line.ts'
import { receiptCommand } from './commands/receipt-command.ts'

declare const SVC_PACKAGE: string

await runCommandLine(SVC_PACKAGE, [receiptCommand])
