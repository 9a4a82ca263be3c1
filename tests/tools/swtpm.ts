import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../demo/free-port.ts'

const startMs = 240_000
const run = promisify(execFile)

/** A software TPM 2.0 (swtpm): it runs the commands of a TPM in a process, and protects nothing by hardware. */
export type Swtpm = {
  /** What SVC_TPM has to be to use it. */
  readonly setting: string
  /** What TPM2TOOLS_TCTI has to be to use it; undefined for one on TCP. */
  readonly tcti: string | undefined
  /** Stops the process as when the power goes, and starts it again: the TPM counts a reset. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A place for software TPMs whose endorsement keys one certificate authority of its own certifies. */
export type SwtpmMaker = Awaited<ReturnType<typeof createSwtpmMaker>>

type SwtpmOptions = {
  /** Certified unless false. */
  readonly certified?: boolean
  readonly socket?: 'unix' | 'tcp'
}

const lacks = (program: string): boolean => spawnSync(program, ['--version']).error !== undefined

/** Why there are no software TPMs on this machine; undefined when there are. Where everything is tested (CI), having none is an error. */
export const whyNoSwtpm = (): string | undefined =>
  whyNot(['swtpm', 'swtpm_setup', 'swtpm_localca'], 'swtpm and swtpm-tools')

/** The same for a software TPM with Debian's tpm2-tools. */
export const whyNoTpm2Tools = (): string | undefined =>
  whyNoSwtpm() ?? whyNot(['tpm2_quote', 'tpm2_checkquote'], 'tpm2-tools')

function whyNot(programs: readonly string[], packages: string): string | undefined {
  if (!programs.some(lacks)) return undefined
  const missing = `${packages} are not installed (node scripts/install-tools.mjs installs them on Debian)`
  if (process.env.CI === 'true') throw new Error(missing)
  return missing
}

/** Makes the authority, with everything in a folder of its own. */
export async function createSwtpmMaker() {
  const folder = await mkdtemp(join(tmpdir(), 'swtpm-'))
  const authority = join(folder, 'ca')
  await mkdir(authority)
  await writeFile(
    join(folder, 'localca.conf'),
    [
      `statedir = ${authority}`,
      `signingkey = ${join(authority, 'signkey.pem')}`,
      `issuercert = ${join(authority, 'issuercert.pem')}`,
      `certserial = ${join(authority, 'certserial')}`,
    ].join('\n'),
  )
  await writeFile(
    join(folder, 'localca.options'),
    '--platform-manufacturer Test\n--platform-version 1\n--platform-model Test\n',
  )
  await writeFile(
    join(folder, 'setup.conf'),
    [
      'create_certs_tool = swtpm_localca',
      `create_certs_tool_config = ${join(folder, 'localca.conf')}`,
      `create_certs_tool_options = ${join(folder, 'localca.options')}`,
      'active_pcr_banks = sha256',
    ].join('\n'),
  )
  const running = new Set<Swtpm>()
  // The first TPM brings the authority into being; two at a time would make two.
  let setups: Promise<unknown> = Promise.resolve()
  let count = 0
  const start = async ({ certified = true, socket = 'unix' }: SwtpmOptions = {}) => {
    const state = join(folder, `tpm-${++count}`)
    await mkdir(state)
    const setup = setups.then(() => setUp(folder, state, certified))
    setups = setup.catch(() => {})
    await setup
    const tpm = await startOne(state, socket)
    running.add(tpm)
    return tpm
  }
  const remove = async () => {
    for (const tpm of running) await tpm.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    // Only so that the authority exists: TPMs are set up with it one by one.
    const first = join(folder, 'first')
    await mkdir(first)
    await setUp(folder, first, true)
    // Endorsement keys lead to it only with the authority in between, which certifies them.
    const rootPem = await readFile(join(authority, 'swtpm-localca-rootca-cert.pem'), 'utf8')
    const issuerPem = await readFile(join(authority, 'issuercert.pem'), 'utf8')
    const rootsPem = `${rootPem}\n${issuerPem}`
    const rootsFile = join(folder, 'roots.pem')
    await writeFile(rootsFile, rootsPem)
    /** `rootsFile` has both certificates as PEM. `stop` stops every TPM and removes the folder. */
    return { folder, rootsFile, rootsPem, rootPem, issuerPem, start, stop: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function setUp(folder: string, state: string, certified: boolean): Promise<void> {
  const args = ['--tpm2', '--tpmstate', state, '--config', join(folder, 'setup.conf')]
  if (certified) args.push('--create-ek-cert')
  args.push('--overwrite', '--logfile', join(state, 'setup.log'))
  try {
    await run('swtpm_setup', args, { cwd: folder })
  } catch (error) {
    const log = await readFile(join(state, 'setup.log'), 'utf8').catch(() => '')
    throw new Error(`swtpm_setup failed: ${log.slice(-1_000)}`, { cause: error })
  }
}

type Place = { readonly server: string; readonly ctrl: string } & (
  | { readonly path: string }
  | { readonly host: string; readonly port: number }
)

async function placeFor(state: string, socket: 'unix' | 'tcp'): Promise<Place> {
  if (socket === 'unix') {
    const path = join(state, 'tpm')
    return {
      path,
      server: `type=unixio,path=${path}`,
      // Where tpm2-tools look for it.
      ctrl: `type=unixio,path=${path}.ctrl`,
    }
  }
  const host = '127.0.0.1'
  const port = await freePort()
  const ctrl = `type=unixio,path=${join(state, 'tpm.ctrl')}`
  return { host, port, server: `type=tcp,port=${port},bindaddr=${host}`, ctrl }
}

async function startOne(state: string, socket: 'unix' | 'tcp'): Promise<Swtpm> {
  const place = await placeFor(state, socket)
  let stop = await startProcess(state, place)
  return {
    setting: 'path' in place ? `unix:${place.path}` : `swtpm:${place.host}:${place.port}`,
    tcti: 'path' in place ? `swtpm:path=${place.path}` : undefined,
    restart: async () => {
      await stop()
      stop = await startProcess(state, place)
    },
    stop: () => stop(),
  }
}

async function startProcess(state: string, place: Place): Promise<() => Promise<void>> {
  const flags = ['--flags', 'not-need-init,startup-clear', '--log', `file=${join(state, 'log')}`]
  const args = ['socket', '--tpm2', '--tpmstate', `dir=${state}`, ...flags]
  args.push('--server', place.server, '--ctrl', place.ctrl)
  // It ends when its standard input does, and so with this process, however that ends.
  const script = '"$@" </dev/null & child=$!; read -r _; kill -9 $child; wait $child'
  const child = spawn('sh', ['-c', script, 'sh', 'swtpm', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.stdin.on('error', () => {})
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.stdin.end()
    await exited
  }
  const untilMs = performance.now() + startMs
  while (!(await answers(place))) {
    if (performance.now() > untilMs) {
      await stop()
      const log = await readFile(join(state, 'log'), 'utf8').catch(() => '')
      throw new Error(`swtpm does not start: ${log.slice(-1_000)}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return stop
}

const answers = (place: Place): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = 'path' in place ? connect(place.path) : connect(place.port, place.host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
