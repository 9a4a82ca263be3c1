import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What an ICL process is started with. */
export type IclSettings = {
  readonly databaseUrl: string
  readonly chainUrl: string
  readonly journalDir?: string | undefined
  readonly port?: number
}

/** An ICL process. */
export type IclProcess = {
  readonly port: number
  readonly url: string
  /** What it logged. */
  readonly log: () => string
  /** kill -9. */
  readonly kill: () => Promise<void>
  /** SIGTERM. */
  readonly stop: () => Promise<void>
}

const entry = fileURLToPath(new URL('icl.ts', import.meta.url))
const startMs = 60_000
const keptLog = 20_000

/** Starts an ICL and waits until it listens. */
export async function startIclProcess(settings: IclSettings): Promise<IclProcess> {
  const child = spawn(process.execPath, ['--no-env-file', entry], {
    // Its input ends with this process, and it ends with its input.
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: settings.databaseUrl,
      CHAIN_URL: settings.chainUrl,
      PORT: String(settings.port ?? 0),
      ...(settings.journalDir && { JOURNAL_DIR: settings.journalDir }),
    },
  })
  child.stdin.on('error', () => {})
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk).slice(-keptLog)
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  try {
    const port = await portOf(child)
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      log: () => log,
      kill: () => end('SIGKILL'),
      stop: () => end('SIGTERM'),
    }
  } catch (error) {
    await end('SIGKILL')
    throw new Error(`The ICL does not start: ${error}\n${log}`, { cause: error })
  }
}

const portOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('it takes too long')), startMs)
    child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk
      const port = /listening at (\d+)\n/.exec(text)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      resolve(Number(port))
    })
  })
