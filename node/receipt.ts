// The command that only checks receipts, packed for users who run no node.
import { runHere } from '../lib/host/program/run-program.ts'
import { contextHere } from './commands/context.ts'
import { receiptCommand } from './commands/receipt-command.ts'

declare const SVC_PACKAGE: string

await runHere({ typed: SVC_PACKAGE, commands: [receiptCommand] }, contextHere)
