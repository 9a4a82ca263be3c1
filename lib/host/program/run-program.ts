// How each program of this project begins and ends: it reads its command line, runs one command, reports a failure with its remedy, and
// exits only when its output has left it.

import type { z } from 'zod'
import { printableLine } from '../../printable.ts'
import { SvcError } from '../../svc-error.ts'
import { exitCodes } from '../exit-code.ts'
import { withStatusColour } from '../status-colour.ts'
import { Interrupted, outputFailure } from '../stop-signals.ts'
import { version } from '../version.ts'
import { wholeOutput } from '../whole-output.ts'
import type { Declared, Program } from './program.ts'

/** Where a program prints, and the context of its commands, which is made when one runs. */
export type ProgramHost<Context> = {
  /** Prints one line to standard output. */
  readonly print: (line: string) => void
  /** Prints one line to standard error. */
  readonly warn: (line: string) => void
  readonly context: (lines: Lines) => Context | Promise<Context>
}

/** Prints one line each, without control characters. */
export type Lines = Pick<ProgramHost<never>, 'print' | 'warn'>

/** Runs the command of a command line. Returns the exit code; never throws. */
export async function runProgram<Context>(
  program: Program<Context>,
  args: readonly string[],
  host: ProgramHost<Context>,
): Promise<number> {
  const lines: Lines = {
    print: (line) => host.print(printableLine(line)),
    warn: (line) => host.warn(printableLine(line)),
  }
  try {
    const { readCommandLine } = await import('./program.ts')
    const asked = readCommandLine(program, args)
    if ('help' in asked) {
      const { helpOf } = await import('./help.ts')
      const say = asksJson(args) ? lines.warn : lines.print
      for (const line of helpOf(program, asked.help).split('\n')) say(line)
    } else if ('version' in asked) {
      lines.print(asksJson(args) ? JSON.stringify({ version }) : version)
    } else return (await asked.run(await host.context(lines))) ?? exitCodes.done
    return exitCodes.done
  } catch (error) {
    return await reportFailure(program, args, lines, error)
  }
}

/** Whether only JSON may go to standard output. */
const asksJson = (args: readonly string[]): boolean =>
  args.slice(0, [...args, '--'].indexOf('--')).includes('--json')

async function reportFailure<Context>(
  { jsonFailure }: Program<Context>,
  args: readonly string[],
  { print, warn }: Lines,
  error: unknown,
): Promise<number> {
  const { errorLines, exitCodeOf, explainError } = await import('../explain-error.ts')
  for (const line of errorLines(error)) warn(line)
  if (asksJson(args)) {
    const { message, hint = null } = explainError(error)
    const code = error instanceof SvcError ? error.code : 'failed'
    print(JSON.stringify(jsonFailure?.(error) ?? { error: { code, message, hint } }))
  }
  return exitCodeOf(error)
}

/**
 * Runs the command line of this process, and exits. `isService`: its command may write output that nothing reads. A program
 * that is a function is loaded unless only the version is asked for.
 */
export async function runHere<Context>(
  program: Program<Context> | (() => Promise<Program<Context>>),
  context: ProgramHost<Context>['context'],
  {
    isService = false,
    args = process.argv.slice(2),
  }: { readonly isService?: boolean; readonly args?: readonly string[] } = {},
): Promise<never> {
  checkFolder()
  const [output, errors] = [wholeOutput(process.stdout), wholeOutput(process.stderr)]
  let failure: unknown
  let isServing = false
  process.stdout.on('error', (error) => {
    failure ??= error
  })
  process.stderr.on('error', () => {})
  const inOutput = withStatusColour(process.stdout, process.env)
  const inErrors = withStatusColour(process.stderr, process.env)
  const host: ProgramHost<Context> = {
    print: (line) => void output.write(`${inOutput(line)}\n`),
    warn: (line) => void errors.write(`${inErrors(line)}\n`),
    context: (lines) => {
      isServing = isService
      return context(lines)
    },
  }
  let exitCode: number = exitCodes.done
  if (args.length === 1 && /^(-v|--version)$/.test(args[0] ?? '')) host.print(version)
  else
    exitCode = await runProgram(
      typeof program === 'function' ? await program() : program,
      args,
      host,
    )
  await output.written().catch((error: unknown) => {
    failure ??= error
  })
  // A failure that the command has reported stays its exit code.
  if (failure !== undefined && !isServing && exitCode === exitCodes.done) {
    exitCode = await reportUnwritten(failure, host)
  }
  await errors.written().catch(() => {})
  // Something abandoned may still be waiting. It must not keep the process alive.
  process.exit(exitCode)
}

/** Runs this process as a program of one command, and exits. `typed`: as the user types it, such as `npm run demo --`. */
export const runOnly = <
  Args extends z.ZodObject | undefined = undefined,
  Options extends z.ZodObject | undefined = undefined,
>(
  typed: string,
  only: Omit<Declared<Lines, Args, Options>, 'name'>,
  { jsonFailure, ...how }: Pick<Program<Lines>, 'jsonFailure'> & Parameters<typeof runHere>[2] = {},
): Promise<never> =>
  runHere(
    { typed, commands: [{ ...only, name: '' }], ...(jsonFailure && { jsonFailure }) },
    (lines) => lines,
    how,
  )

/** Reports that standard output was not written, quietly where its reader has gone. Returns the exit code. */
async function reportUnwritten(error: unknown, { warn }: Lines): Promise<number> {
  const { errorLines, exitCodeOf } = await import('../explain-error.ts')
  const failure = outputFailure(error)
  if (!(failure instanceof Interrupted)) for (const line of errorLines(failure)) warn(line)
  return exitCodeOf(failure)
}

/** Ends the process with a remedy where the folder that it was started in is gone: each relative path would fail with another error. */
function checkFolder(): void {
  try {
    process.cwd()
  } catch {
    process.stderr.write(
      'error: the working directory is gone\nhint: Go to another one with `cd`.\n',
    )
    process.exit(exitCodes.operatorMustAct)
  }
}
