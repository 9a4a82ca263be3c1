import { type ExecFileOptions, execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createProcesses } from '../../demo/processes.ts'
import { programOf } from '../../demo/runtime-programs.ts'
import { startWorld } from '../../demo/world.ts'
import { flag } from '../../lib/host/program/option.ts'
import { startGateway } from '../gateway-process.ts'
import { print, runOnly } from '../run-program.ts'
import { curlCells } from './curl.ts'
import { startProvider } from './provider.ts'
import { askReal } from './real.ts'

const run = promisify(execFile)
const model = 'openai:gpt-4o-mini'
const limitMs = 900_000
const installMs = 1_200_000

const npmPackages = [
  ...['openai', '@langchain/openai', '@langchain/core', 'ai', '@ai-sdk/openai'],
  ...['@ai-sdk/openai-compatible', '@anthropic-ai/sdk'],
  ...['@mariozechner/pi-coding-agent', '@anthropic-ai/claude-code'],
]
const pipPackages = ['openai', 'langchain-openai', 'litellm[mcp]', 'pydantic-ai-slim', 'instructor']

type Cell = { readonly column: string; readonly result: string }
type Row = { readonly client: string; readonly cells: readonly Cell[] }

let folder = ''
let processes: ReturnType<typeof createProcesses>
const stops: (() => Promise<void>)[] = []
const tell = (line: string) => process.stderr.write(`${line}\n`)

/** Asks with all clients; gives how many cells failed. */
async function askAll(): Promise<number> {
  const python = await install()
  const baseURL = await serve()
  const env = {
    ...process.env,
    ...{ NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', OPENAI_BASE_URL: baseURL },
    OPENAI_API_KEY: 'any',
    PATH: [dirname(programOf('node') ?? ''), process.env.PATH].join(delimiter),
  }
  const how = { cwd: folder, env, timeout: limitMs, maxBuffer: 16_777_216 }
  const node = programOf('node') ?? 'node'
  const rows: Row[] = [{ client: 'curl', cells: await curlCells(baseURL, model, how) }]
  for (const [client, program, file] of [
    ['openai (npm)', node, 'openai.mjs'],
    ['@anthropic-ai/sdk (npm)', node, 'anthropic.mjs'],
    ['openai (PyPI)', python, 'openai_client.py'],
    ['@langchain/openai (npm)', node, 'langchain.mjs'],
    ['langchain-openai (PyPI)', python, 'langchain_client.py'],
    ['ai + @ai-sdk (npm)', node, 'ai-sdk.mjs'],
    ['litellm (PyPI)', python, 'litellm_client.py'],
    ['pydantic-ai-slim (PyPI)', python, 'pydantic_ai_client.py'],
    ['instructor (PyPI)', python, 'instructor_client.py'],
  ] as const) {
    tell(`asking with ${client}`)
    rows.push({ client, cells: await cellsOf(program, file, how) })
  }
  tell('asking with pi')
  rows.push({ client: 'pi-coding-agent (npm)', cells: await agentCells(baseURL, node, how) })
  tell('asking with Claude Code')
  rows.push({ client: 'claude-code (npm)', cells: await claudeCells(baseURL, node, how) })
  return tellTable(rows)
}

/** Installs the clients; gives the Python that has its own. */
async function install(): Promise<string> {
  await cp(join(import.meta.dirname, 'clients'), folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  tell(`installing ${[...npmPackages, ...pipPackages].join(', ')}`)
  const how = { cwd: folder, timeout: installMs }
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const venv = join(folder, 'venv')
  await Promise.all([
    run('npm', ['install', ...flags, ...npmPackages], how),
    run('python3', ['-m', 'venv', venv], how).then(() =>
      run(join(venv, 'bin', 'pip'), ['install', '--quiet', ...pipPackages], how),
    ),
  ])
  return join(venv, 'bin', 'python')
}

/** Starts the service and a gateway with default settings; gives its address. */
async function serve(): Promise<string> {
  const provider = await startProvider()
  stops.push(provider.close)
  const world = await startWorld({
    models: [model],
    standIn: true,
    standInScript: join(import.meta.dirname, 'script.json'),
    providerEnv: (_, url) => {
      provider.sendOthersTo(String(url))
      return { OPENAI_API_KEY: 'any', SVC_OPENAI_BASE_URL: `${provider.url}/v1` }
    },
  })
  stops.push(world.stop)
  return await startGateway(processes, world)
}

/** Returns the cells that a client printed, one a line, and its error if it ended with one. */
async function cellsOf(program: string, file: string, how: ExecFileOptions): Promise<Cell[]> {
  const { stdout, failed } = await run(program, [join(folder, file)], how).then(
    ({ stdout }) => ({ stdout: String(stdout), failed: undefined }),
    (error: Error & { stdout?: string }) => ({ stdout: error.stdout ?? '', failed: error }),
  )
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  const cells = lines.map((line) => JSON.parse(line) as Cell)
  return failed ? [...cells, { column: 'plain', result: `FAIL: ${failed.message}` }] : cells
}

/** Has a coding agent correct a file, through each interface. */
async function agentCells(baseUrl: string, node: string, how: ExecFileOptions): Promise<Cell[]> {
  const home = join(folder, 'agent-home')
  await mkdir(home)
  const provider = (api: string) => ({ baseUrl, api, apiKey: 'any', models: [{ id: model }] })
  const providers = {
    ...{ chat: provider('openai-completions'), whole: provider('openai-responses') },
    messages: { ...provider('anthropic-messages'), baseUrl: new URL(baseUrl).origin },
  }
  await writeFile(join(home, 'models.json'), JSON.stringify({ providers }))
  const agent = join(folder, 'node_modules', '@mariozechner', 'pi-coding-agent', 'dist', 'cli.js')
  const env = { ...how.env, PI_CODING_AGENT_DIR: home, PI_OFFLINE: '1' }
  const correct = (name: keyof typeof providers) => {
    const asked = ['-p', 'Correct the spelling in greeting.txt']
    return correctedBy(node, [agent, '--model', `${name}/${model}`, ...asked], { ...how, env })
  }
  const tools = await correct('chat')
  return [
    { column: 'tools', result: tools },
    { column: 'stream', result: tools },
    { column: 'responses, tools', result: await correct('whole') },
    { column: 'messages, tools', result: await correct('messages') },
  ]
}

/** Has Claude Code correct a file; it knows no other interface than Anthropic's. */
async function claudeCells(baseUrl: string, node: string, how: ExecFileOptions): Promise<Cell[]> {
  const agent = join(folder, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs')
  const home = join(folder, 'claude-home')
  const env = {
    ...{ ...how.env, CLAUDE_CONFIG_DIR: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    ...{ ANTHROPIC_BASE_URL: new URL(baseUrl).origin, ANTHROPIC_API_KEY: 'any' },
  }
  // The tools have other names and arguments than those of pi.
  const asked = ['-p', 'Correct the spelling in greeting.txt by Edit']
  const given = [agent, '--model', model, '--allowedTools', 'Read,Edit', ...asked]
  const result = await correctedBy(node, given, { ...how, env })
  return [{ column: 'messages, tools', result }]
}

/** Has an agent correct a file in a folder of its own. */
async function correctedBy(
  node: string,
  agent: readonly string[],
  how: ExecFileOptions,
): Promise<string> {
  const cwd = await mkdtemp(join(folder, 'project-'))
  const file = join(cwd, 'greeting.txt')
  await writeFile(file, 'Helo, world\n')
  const pending = run(node, agent, { ...how, cwd })
  pending.child.stdin?.end()
  const said = await pending.then(
    ({ stdout, stderr }) => `${stdout}${stderr}`,
    (error: Error) => error.message,
  )
  const isCorrect = (await readFile(file, 'utf8')) === 'Hello, world\n'
  return isCorrect ? 'ok' : `FAIL: the file is as it was: ${said}`
}

/** Prints the table, and what failed beneath it; gives how many failed. */
function tellTable(rows: readonly Row[]): number {
  const columns = [...new Set(rows.flatMap(({ cells }) => cells.map(({ column }) => column)))]
  const all = rows.flatMap(({ client, cells }) => cells.map((cell) => ({ client, ...cell })))
  const failed = all.filter(({ result }) => result.startsWith('FAIL'))
  const shown = (client: string, column: string) =>
    all
      .filter((cell) => cell.client === client && cell.column === column)
      .map(({ result }) => (result.startsWith('FAIL') ? 'FAIL' : result.replace(/ .*/, '')))
      .join(', ')
  const lines = [
    ['client', ...columns],
    ['---', ...columns.map(() => '---')],
    ...rows.map(({ client }) => [client, ...columns.map((column) => shown(client, column))]),
  ]
  for (const line of lines) print(`| ${line.join(' | ')} |`)
  for (const { client, column, result } of failed) tell(`${client}, ${column}: ${result}`)
  print(`${all.length - failed.length} ok, ${failed.length} failed`)
  return failed.length
}

await runOnly('npm run test:agents --', {
  summary:
    "Try clients of OpenAI's and Anthropic's protocols, each of its own package, at a gateway with default settings. Print a table; ends with 1 when a cell fails.",
  options: z.object({ real: flag('One client sends prompts to a real model instead') }),
  notes: 'The clients are installed into a temporary folder, by npm and pip as these are set up.',
  run: async ({ real }) => {
    folder = await mkdtemp(join(tmpdir(), 'svc-agents-'))
    processes = createProcesses(folder)
    stops.push(() => rm(folder, { recursive: true, force: true }))
    try {
      const failures = real ? await askReal(processes, stops) : await askAll()
      return failures === 0 ? 0 : 1
    } finally {
      await processes.close()
      for (const stop of stops.toReversed()) await stop()
    }
  },
})
