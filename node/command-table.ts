import { z } from 'zod'
import { Hash32 } from '../lib/codecs.ts'
import { completionCommand } from '../lib/host/program/completion.ts'
import { option } from '../lib/host/program/option.ts'
import { type Command, command, type Program } from '../lib/host/program/program.ts'
import type { CommandContext } from './commands/context.ts'
import { type Given, options } from './commands/options.ts'
import { receiptCommand } from './commands/receipt-command.ts'

/** Declares a command whose module is loaded when it runs. */
const loaded = <Name extends keyof typeof options>(
  name: Name,
  summary: string,
  load: () => Promise<(given: Given<Name>, context: CommandContext) => Promise<number | undefined>>,
): Command<CommandContext> => ({
  ...{ name, summary, options: options[name] },
  run: async (given: Given<Name>, context) => (await load())(given, context),
})

const commands = [
  loaded(
    'init',
    'Create the configuration and the wallet keystore',
    async () => (await import('./commands/init.ts')).initialise,
  ),
  loaded(
    'register',
    'Register the node on chain with a stake, or bring its registration up to date',
    async () => (await import('./commands/register.ts')).register,
  ),
  loaded(
    'unregister',
    'Leave: start unbonding the stake, and withdraw it once that is over',
    async () => (await import('./commands/unregister.ts')).unregister,
  ),
  command({
    name: 'answer',
    summary: 'Answer an accusation: its hash goes on chain, the answer itself to the arbiter',
    args: z.object({ fault: option(Hash32, 'FAULT', 'The accusation, 0x and 64 hex digits') }),
    options: options.answer,
    run: async (given, context: CommandContext) =>
      (await import('./commands/answer.ts')).answerFault(given, context),
  }),
  loaded(
    'attest',
    'Attest with the ICL',
    async () => (await import('./commands/attest.ts')).attestOnce,
  ),
  loaded(
    'release',
    "Free this wallet's TPM at the ICL, so that another wallet can attest with it",
    async () => (await import('./commands/release.ts')).releaseTpm,
  ),
  loaded('run', 'Start the daemon', async () => (await import('./commands/run.ts')).runNode),
  loaded(
    'repair',
    'Make a damaged job journal usable. The damaged file is kept',
    async () => (await import('./commands/repair.ts')).repair,
  ),
  loaded(
    'status',
    'Show what the ICL, the chain, the certificate and the providers say of this node',
    async () => (await import('./commands/status.ts')).showStatus,
  ),
  loaded(
    'doctor',
    'Check everything that the node needs, with a remedy for each failure',
    async () => (await import('./commands/doctor/doctor.ts')).examine,
  ),
  loaded(
    'transactions',
    'Show the transactions of the wallet that are in no block yet, or move one on',
    async () => (await import('./commands/transactions.ts')).showTransactions,
  ),
  loaded(
    'jobs',
    "Show this node's jobs and the reputation events that they brought",
    async () => (await import('./commands/jobs.ts')).showJobs,
  ),
  receiptCommand,
  completionCommand(() => svcNode),
]

/** `svc-node`: its commands in the order in which an operator needs them (spec 4). */
export const svcNode: Program<CommandContext> = {
  typed: 'svc-node',
  shellWords: ['svc-node'],
  commands,
}
