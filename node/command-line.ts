import { type CAC, cac } from 'cac'
import { exitCodeHelp, exitCodes } from '../lib/host/exit-code.ts'
import { fitHelp } from '../lib/host/fit-help.ts'
import { nearestName } from '../lib/host/nearest.ts'
import { withStatusColour } from '../lib/host/status-colour.ts'
import { commit, version } from '../lib/host/version.ts'
import { printableLine } from '../lib/printable.ts'
import type { CommandSpec } from './commands/command-spec.ts'
import type { CommandContext } from './commands/context.ts'
import { readArguments, readFlags, usageError } from './commands/flags.ts'
import { trimmed } from './environment.ts'

/** Where a command line comes from, and where its lines go. The rest of the context is loaded once a command is known. */
export type CommandHost = Pick<CommandContext, 'print' | 'warn'> & {
  readonly args: readonly string[]
  readonly context: () => Promise<Omit<CommandContext, 'print' | 'warn'>>
}

function declare(
  cli: CAC,
  spec: CommandSpec,
  { args: raw, context, print, warn }: CommandHost,
): void {
  const { name, args = [], summary, flags } = spec
  const places = args.map((arg) => (arg.startsWith('<') ? arg : `<${arg}>`))
  const command = cli.command([name, ...places].join(' '), summary)
  command.usage([name, ...args, ...(flags.length > 0 ? ['[flags]'] : [])].join(' '))
  for (const [usage, meaning] of flags) command.option(usage, meaning)
  // `readFlags` checks the flags, because it suggests the nearest name.
  command.allowUnknownOptions()
  command.action(async (...given: readonly unknown[]) => {
    const typed = readFlags(Object(given.at(-1)), raw, flags, name)
    const run = await spec.load()
    const whole = { ...(await context()), print, warn }
    return await run(typed, whole, readArguments(given.slice(0, -1), raw))
  })
}

function thisProcess(): CommandHost {
  const inOutput = withStatusColour(process.stdout, process.env)
  const inErrors = withStatusColour(process.stderr, process.env)
  return {
    args: process.argv.slice(2),
    print: (line) => console.log(inOutput(line)),
    warn: (line) => console.error(inErrors(line)),
    context: async () => {
      const { systemClock, systemRandom } = await import('../lib/system.ts')
      const { systemFetch } = await import('../lib/system-fetch.ts')
      return {
        environment: trimmed(process.env),
        terminal: { input: process.stdin, output: process.stderr },
        fetch: systemFetch,
        clock: systemClock,
        random: systemRandom,
        isWatched: process.stdout.isTTY === true,
      }
    },
  }
}

function commandLineOf(program: string, commands: readonly CommandSpec[], host: CommandHost): CAC {
  const cli = cac(program)
  cli.option('-v, --version', 'Print the version')
  cli.help((sections) => {
    const built = commit === undefined ? version : `${version} (${commit})`
    const spec = commands.find(({ name }) => name === cli.matchedCommandName)
    const [, ...rest] = sections.map(({ title, body }) => ({
      ...(title !== undefined && { title }),
      body: fitHelp(body)
        // The name is two letters shorter. The columns after it stay in place.
        .replaceAll(/<verify>(.*?)( {2,})/g, 'verify$1  $2')
        .replaceAll('<verify>', 'verify'),
    }))
    const head = [{ body: `${program} ${built}` }, ...(spec ? [{ body: spec.summary }] : [])]
    return [...head, ...rest, { title: 'Exit codes', body: exitCodeHelp }]
  })
  for (const command of commands) declare(cli, command, host)
  return cli
}

async function runMatched(
  program: string,
  commands: readonly CommandSpec[],
  host: CommandHost,
): Promise<number> {
  const cli = commandLineOf(program, commands, host)
  // The parser skips what stands for the runtime and the file.
  cli.parse(['', '', ...host.args], { run: false })
  if (cli.options.help) return exitCodes.done
  if (cli.options.version) {
    host.print(version)
    return exitCodes.done
  }
  if (cli.matchedCommand === undefined) throw noCommand(program, cli.args[0], commands)
  return (await cli.runMatchedCommand()) ?? exitCodes.done
}

function noCommand(
  program: string,
  name: string | undefined,
  commands: readonly CommandSpec[],
): Error {
  const see = `see \`${program} --help\``
  if (name === undefined) return usageError('no command given', see)
  const names = commands.map((command) => command.name)
  const near = nearestName(String(name), names)
  const hint = near === undefined ? see : `did you mean \`${program} ${near}\`? Else ${see}`
  return usageError(`no command ${name}`, hint)
}

async function reportFailure(
  program: string,
  { warn }: CommandHost,
  error: unknown,
): Promise<number> {
  // Loaded late: it imports the schema library, which takes as long to load as the rest of `--version`.
  const { errorLines, exitCodeOf } = await import('../lib/host/explain-error.ts')
  const exitCode = exitCodeOf(error)
  const hint = exitCode === exitCodes.usage ? `see \`${program} --help\`` : undefined
  for (const line of errorLines(error, hint)) warn(line)
  return exitCode
}

/** Runs the command of a host's arguments. Returns the exit code. Each text that it prints is one line, without control characters. */
export async function runCommandOf(
  program: string,
  commands: readonly CommandSpec[],
  given: CommandHost,
): Promise<number> {
  const host: CommandHost = {
    ...given,
    print: (line) => given.print(printableLine(line)),
    warn: (line) => given.warn(printableLine(line)),
  }
  return await runMatched(program, commands, host).catch((error: unknown) =>
    reportFailure(program, host, error),
  )
}

/** Runs the command of this process's arguments, and exits. */
export async function runCommandLine(
  program: string,
  commands: readonly CommandSpec[],
): Promise<never> {
  const exitCode = await runCommandOf(program, commands, thisProcess())
  // An abandoned job may still be waiting. It must not keep the process alive.
  process.exit(exitCode)
}
