import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { Prover } from '../../lib/coprocessor/prover.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { explainError } from '../../lib/host/explain-error.ts'
import { command, type Program } from '../../lib/host/program/program.ts'
import { runHere } from '../../lib/host/program/run-program.ts'
import { stopSignal } from '../../lib/host/stop-signals.ts'
import { oneLine } from '../../lib/printable.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { connectClient } from '../connect/connect-client.ts'
import { type Environment, parseClientSettings } from '../connect/settings.ts'
import { type CallerKey, readCallerKeys } from './caller-keys.ts'
import { createGateway } from './gateway.ts'
import type { Answer, GatewayOptions } from './gateway-options.ts'
import { bracketed, type GatewayCommand, options, texts, withKeys } from './options.ts'

const maxWaiting = 64
const giveUpWhenStuckMs = 30_000
// A client needs less time to get the answer to a submission under way and to cancel its job.
const drainMs = 12_000
const drainLookMs = 20

/** A server that takes requests for the gateway. */
type GatewayServer = {
  readonly port: number
  /** Requests that are not answered wholly yet. */
  readonly pending: number
  /** Takes no more requests; with `true`, it cuts off what is still open, such as connections that are kept for later. */
  stop(cutOff: boolean): Promise<void>
}

/** The parts of the process that the command uses. */
export type GatewayHost = {
  readonly environment: Environment
  readonly print: (line: string) => void
  readonly clock: Clock
  readonly random: Random
  /** Makes proofs; processes of their own when left out. */
  readonly prover?: Prover | undefined
  /** Aborts when the user wants to stop. */
  readonly signal: AbortSignal
  readonly listen: (
    place: { readonly hostname: string; readonly port: number },
    answer: (request: Request) => Response | Promise<Response>,
  ) => GatewayServer | Promise<GatewayServer>
}

/** The program that serves the gateway until its signal aborts. */
export const gatewayProgram: Program<GatewayHost> = {
  ...texts,
  commands: [
    command({
      name: '',
      summary: "Serves OpenAI's and Anthropic's interfaces on this machine.",
      options,
      run: async (given, host: GatewayHost) => {
        try {
          await serve(withKeys(given, host.environment), host)
        } catch (error) {
          if (!host.signal.aborted) throw error
        }
        return undefined
      },
    }),
  ],
}

async function serve(command: GatewayCommand, host: GatewayHost): Promise<void> {
  const { print, clock, random, signal, environment, prover } = host
  const keys = await keysOf(command)
  const client = await connectClient(parseClientSettings(environment), {
    ...{ clock, random, signal },
    warn: print,
    ...(prover && { prover }),
  })
  // Those of callers who have left too, whose jobs are still to be cancelled: the server counts them no more.
  let underWay = 0
  const gateway = createGateway({
    ...optionsOf(command, host),
    keys,
    onAnswered: (answer) => {
      underWay -= 1
      print(lineOf(answer, clock))
    },
    client,
    // More at once than the ICL takes would only be refused.
    atOnce: Math.min(command.atOnce, client.network.limits.jobs_at_once),
  })
  const server = await bound(command, () =>
    host.listen({ hostname: command.host, port: command.port }, (request) => {
      underWay += 1
      return gateway.fetch(request)
    }),
  )
  print(`Gateway at http://${bracketed(command.host)}:${server.port}/v1`)
  print(
    keys.length > 0
      ? `Callers must show as their API key ${command.apiKey ? 'SVC_GATEWAY_KEY' : `one of the ${keys.length} of SVC_GATEWAY_KEYS_FILE`}.`
      : 'Any API key will do: every program that can call this address spends your wallet.',
  )
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  print('Stopping: jobs to which no node has committed are cancelled.')
  void server.stop(false)
  const stoppedAt = clock.monotonic()
  const isIdle = () => server.pending === 0 && underWay === 0
  while (!isIdle() && elapsedSince(clock, stoppedAt) < drainMs) await clock.sleep(drainLookMs)
  await server.stop(true)
}

async function bound<T>({ host, port }: GatewayCommand, listen: () => T | Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    const why = errorMessage(error)
    throw new SvcError('port-unavailable', `${host}:${port} cannot be listened at: ${why}`, {
      hint: 'Choose another port with --port.',
    })
  }
}

async function keysOf({ apiKey, keysFile }: GatewayCommand): Promise<readonly CallerKey[]> {
  if (keysFile !== undefined) return await readCallerKeys(keysFile)
  return apiKey === undefined ? [] : [{ name: 'SVC_GATEWAY_KEY', key: apiKey }]
}

const optionsOf = (
  command: GatewayCommand,
  { clock, signal, print }: GatewayHost,
): Omit<GatewayOptions, 'client' | 'keys' | 'atOnce' | 'onAnswered'> => ({
  clock,
  modelMap: command.modelMap,
  agreement: { rule: command.rule, minMatches: command.minMatches },
  maxWaiting,
  isStrict: command.strict,
  onIgnored: (parameter) =>
    print(logLine([timeOf(clock), 'ignored parameter', parameter, '(logged once)'])),
  keepAliveMs: command.keepAlive === 0 ? undefined : command.keepAlive * 1_000,
  storeAhead: command.storeAhead
    ? (model, error) => {
        const words = error === undefined ? [] : [explain(error)]
        const what = `${error === undefined ? '' : 'no '}key stored ahead for`
        print(logLine([timeOf(clock), what, model, ...words]))
      }
    : undefined,
  giveUpWhenStuckMs,
  hosts: command.hosts,
  origins: new Set(command.allowOrigin),
  stopping: signal,
})

/** A request in one line: who asked for what, and nothing of what was said. */
function lineOf(answer: Answer, clock: Clock): string {
  const { caller, method, path, status, elapsedMs, model, jobId, unseen, error } = answer
  return logLine([
    timeOf(clock),
    method,
    path,
    status,
    `${Math.round(elapsedMs)}ms`,
    ...(caller === undefined ? [] : [`key=${caller}`]),
    ...(model === undefined ? [] : [model.slice(0, 100)]),
    ...(jobId === undefined ? [] : [jobId]),
    ...(unseen === undefined ? [] : [`answered, not seen on chain: ${unseen}`]),
    ...(error === undefined ? [] : [explain(error)]),
  ])
}

const timeOf = (clock: Clock): string => new Date(clock.now()).toISOString()

const explain = (error: unknown): string => `error: ${explainError(error).message}`

const logLine = (words: readonly (string | number)[]): string => oneLine(words.join(' '))

/** Serves the gateway with the streams and settings of this process, and ends it. */
export const gatewayHere = (
  args: readonly string[],
  host: Pick<GatewayHost, 'listen' | 'prover'>,
): Promise<never> =>
  runHere(
    gatewayProgram,
    ({ print }) => ({
      ...{ environment: process.env, print, clock: systemClock, random: systemRandom },
      ...{ signal: stopSignal(), ...host },
    }),
    { args, isService: true },
  )
