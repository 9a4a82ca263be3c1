import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Fetch } from '../../lib/outgoing.ts'
import { origin } from '../icl/test-icl.ts'
import { sampleSettings, withoutLimits } from '../sample-settings.ts'

const startMs = 240_000

/** ICL processes over one store. */
export type Replicas = {
  /** Sends each request to any of them. */
  readonly fetch: Fetch
  readonly stop: () => Promise<void>
}

/** Starts ICL processes that share a database. */
export async function startReplicas(count: number, databaseUrl: string): Promise<Replicas> {
  const started = await Promise.all(Array.from({ length: count }, () => startOne(databaseUrl)))
  return {
    fetch: (request) => {
      const { port } = started[Math.floor(Math.random() * count)]!
      return fetch(new Request(request.url.replace(origin, `http://127.0.0.1:${port}`), request))
    },
    stop: async () => {
      await Promise.all(started.map(({ stop }) => stop()))
    },
  }
}

async function startOne(databaseUrl: string) {
  const child = spawn(
    process.execPath,
    ['--no-env-file', join(import.meta.dirname, 'icl-process.ts')],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NO_PROXY: '127.0.0.1,localhost',
        ...sampleSettings,
        ...withoutLimits,
        SVC_ICL_DATABASE_URL: databaseUrl,
        SVC_ICL_REPLICAS: '3',
        SVC_ICL_MOCK_ATTESTATION_KEY: '07'.repeat(16),
        SVC_ICL_LOG_LEVEL: 'warn',
      },
    },
  )
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk).slice(-4_000)
  })
  child.stdin.on('error', () => {})
  const exited = once(child, 'exit')
  const listening = once(createInterface(child.stdout), 'line')
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('it does not start')), startMs).unref()
  })
  const died = exited.then(([code]) => Promise.reject(new Error(`it ended with ${code}`)))
  died.catch(() => {})
  try {
    const [line] = (await Promise.race([listening, died, late])) as [string]
    return {
      port: Number(line),
      stop: async () => {
        child.stdin.end()
        const cutOff = setTimeout(() => child.kill('SIGKILL'), 20_000)
        await exited
        clearTimeout(cutOff)
      },
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`An ICL process failed: ${complaints}`, { cause: error })
  }
}
