import { z } from 'zod'
import { readOptions, WholeNumber } from '../lib/host/command-line.ts'
import { fitHelp } from '../lib/host/fit-help.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { FixedPort } from './check-machine.ts'

/** The help text. */
export const devUsage =
  fitHelp(`Usage: npm run dev -- [--model MODEL] [--port N] [--chain-port N] [--script FILE]

Runs the whole service on this machine until Ctrl-C: a chain, the coordinator (ICL) with console,
playground and webhooks, and three nodes. Prints addresses, funded keys and commands to copy. It
keeps nothing after it has ended.

  --model MODEL     openai:gpt-4o-mini (default), anthropic:claude-sonnet-5-5, ...
  --port N          the ICL's port (default 8080). The next two are for the stand-in and the webhook receiver
  --chain-port N    the port of the chain's JSON-RPC (default 8545)
  --script FILE     what the stand-in responds with, tool calls too. demo/agent-script.json is one

  OPENAI_API_KEY, ANTHROPIC_API_KEY  use the real provider. Without them a local stand-in responds
`)

const wrong = (message: string): SvcError =>
  new SvcError('usage', message, { hint: 'Run `npm run dev -- --help`.' })

// The two ports after it are used, too.
const Port = WholeNumber(1, 65_533)
const Flags = z.object({
  model: z.string().default('openai:gpt-4o-mini'),
  port: Port.default(8080),
  'chain-port': Port.default(8545),
  /** The file with the stand-in's answers, in place of the usual ones. */
  script: z.string().optional(),
})

/** The options of the development service. */
export type DevOptions = z.output<typeof Flags>

/** Parses the command line, undefined for help. Throws SvcError `usage`. */
export const parseDevOptions = (args: readonly string[]): DevOptions | undefined =>
  readOptions(args, Flags, wrong)

/** The ports on which the service listens. */
export const devPorts = ({ port, 'chain-port': chainPort }: DevOptions) =>
  ({
    chain: { port: chainPort, use: 'chain', option: '--chain-port' },
    icl: { port, use: 'ICL', option: '--port' },
    standIn: { port: port + 1, use: 'stand-in', option: '--port' },
    webhooks: { port: port + 2, use: 'webhook receiver', option: '--port' },
  }) as const satisfies Readonly<Record<string, FixedPort>>
