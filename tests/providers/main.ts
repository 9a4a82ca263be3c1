import { z } from 'zod'
import { createProcesses } from '../../demo/processes.ts'
import { startWorld } from '../../demo/world.ts'
import { flag, option } from '../../lib/host/program/option.ts'
import { baseUrlVariable } from '../../lib/providers.ts'
import { systemClock } from '../../lib/system.ts'
import { startGateway } from '../gateway-process.ts'
import { print, runOnly } from '../run-program.ts'
import { ask, type Got } from './ask.ts'
import { realPrompts } from './prompts.ts'
import { type Expected, isStreamed, type Row, rows, slowRow } from './rows.ts'
import { startScripted } from './scripted.ts'

const usual = 'own'
const mostRequests = 9
const atOnce = 3

let failures = 0

async function withGateway(
  urls: Readonly<Record<string, string>>,
  model: string,
  body: (gateway: string) => Promise<void>,
): Promise<void> {
  process.stderr.write('starting the service\n')
  const env = Object.entries(urls).map(([name, url]) => [baseUrlVariable(name), url] as const)
  const world = await startWorld({
    models: Object.keys(urls).map((name) => `${name}:${model}`),
    providerEnv: () => Object.fromEntries(env),
  })
  const processes = createProcesses(world.folder)
  try {
    await body(await startGateway(processes, world))
  } finally {
    await processes.close()
    await world.stop()
  }
}

/** Calls `one` for each, a few at a time. */
async function each<T>(all: readonly T[], one: (item: T) => Promise<void>): Promise<void> {
  const left = [...all]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await one(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

async function scripted(only: string, slow: boolean): Promise<void> {
  const provider = await startScripted()
  const names = [...new Set(rows.map((row) => row.provider ?? usual))]
  const urls = Object.fromEntries(names.map((name) => [name, `${provider.url}/${name}/v1`]))
  const asStream = (row: Row): Row => ({ ...row, name: `${row.name}, streamed` })
  const tried = rows.flatMap((row) => (isStreamed(row) ? [row, asStream(row)] : [row]))
  const chosen = slow ? [slowRow] : tried.filter(({ name }) => name.includes(only))
  await withGateway(urls, 'm', async (gateway) => {
    await each(chosen, async (row) => {
      const got = await asked(gateway, row)
      const requests = provider.askedFor(row.name)
      tell(row.name, got, isAs(row.expected, got) && requests <= mostRequests, requests)
    })
    if (!slow && 'next to six'.includes(only)) await tryBeside(gateway)
  })
  await provider.close()
}

const asked = (gateway: string, { name, provider = usual, more }: Row): Promise<Got> =>
  ask(gateway, { model: `${provider}:m`, user: `row ${name}`, more })

function isAs(expected: Expected, got: Got): boolean {
  return Object.entries(expected).every(([name, value]) => {
    const had = got[name as keyof Expected]
    return name === 'ignored'
      ? String(had).includes(String(value))
      : JSON.stringify(had) === JSON.stringify(value)
  })
}

function tell(name: string, got: Got, isRight: boolean, requests: number): void {
  const { seconds, message, ...result } = got
  if (!isRight) failures += 1
  const { status, code = '' } = result
  const spent = `${requests} requests, ${seconds.toFixed(1)} s`
  print(`${isRight ? 'ok  ' : 'FAIL'} ${name}: ${[status, code].join(' ').trim()}, ${spent}`)
  if (!isRight) print(`       ${JSON.stringify(result)} ${message}`)
}

/** Sends a good job alone, and then next to six that fail. */
async function tryBeside(gateway: string): Promise<void> {
  const [good, bad] = ['plain', 'overloaded'].map((name) => rows.find((row) => row.name === name))
  if (!good || !bad) throw new Error('a row is missing')
  const alone = await asked(gateway, good)
  const six = Array.from({ length: 6 }, () => asked(gateway, bad))
  await systemClock.sleep(1_500)
  const late = await asked(gateway, good)
  await Promise.all(six)
  const ratio = late.seconds / alone.seconds
  if (ratio > 2 || late.status !== 200) failures += 1
  const seconds = `${late.seconds.toFixed(1)} s, alone ${alone.seconds.toFixed(1)} s`
  print(`a good job next to six that fail: ${late.status}, ${seconds}: x${ratio.toFixed(2)}`)
}

async function real(url: string, model: string): Promise<void> {
  const tally = new Map<string, number>()
  await withGateway({ real: url }, model, (gateway) =>
    each(realPrompts, async ({ user, more }) => {
      const got = await ask(gateway, { model: `real:${model}`, user, more })
      const { agreement = '', code = '', says, calls, finish, seconds } = got
      const kind = agreement || `${got.status} ${code}`
      tally.set(kind, (tally.get(kind) ?? 0) + 1)
      const answer = (says ?? calls?.join(' ') ?? got.message).replaceAll(/\s+/g, ' ').slice(0, 90)
      const question = user.slice(0, 40)
      print(`${kind} | ${finish ?? ''} | ${seconds.toFixed(1)} s | ${question} | ${answer}`)
    }),
  )
  for (const [kind, count] of tally) print(`${count} of ${realPrompts.length}: ${kind}`)
}

await runOnly('npm run test:providers --', {
  summary:
    'Try forms of answers and failures of a scripted provider through a whole service and its gateway, with three nodes, and one good job next to six that fail. Print a line each: the result at the client, the requests to providers, the seconds. Ends with 1 when one fails.',
  options: z.object({
    only: option(z.string().optional(), 'TEXT', 'Those whose name holds this'),
    slow: flag('Only a provider that is slow'),
    server: option(z.url().optional(), 'URL', 'Instead: 30 prompts to a real server'),
    model: option(z.string().default('m'), 'NAME', 'The model of that server'),
  }),
  run: async ({ only = '', slow, server, model }) => {
    await (server === undefined ? scripted(only, slow) : real(server, model))
    print(`${failures} failed`)
    return failures === 0 ? 0 : 1
  },
})
