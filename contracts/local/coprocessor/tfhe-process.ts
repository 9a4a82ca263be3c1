import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { abortable } from '../../../lib/chain/abortable.ts'
import { fingerprintOf, readKey } from './key-files.ts'
import { ServiceError } from './service-error.ts'
import type { Work, WorkerNews, WorkerPlace } from './worker-messages.ts'

const maxWaiting = 16
const retryAfterSeconds = 5
const defaultWorkTimeoutMs = 120_000
const workerFile = fileURLToPath(new URL('./tfhe-worker.ts', import.meta.url))

/** Runs the computations, one at a time, in a process that is replaced when it dies. */
export type TfheProcess = Awaited<ReturnType<typeof startTfheProcess>>

/** The worker's folders, and callbacks for its state. */
export type TfheProcessOptions = Omit<WorkerPlace, 'fingerprint'> & {
  readonly workTimeoutMs?: number
  /** Called when the worker makes keys, which takes a minute, and when it has them. */
  readonly onState: (state: 'making-keys' | 'preparing') => void
  readonly onEnd: (how: string) => void
}

type Asked = { readonly id: number; readonly settle: (news: WorkerNews) => void }

type Worker = {
  readonly child: ChildProcess
  readonly ready: Promise<void>
  readonly exited: Promise<void>
  asked: Asked | undefined
  wasReady: boolean
}

const unavailable = (why: string): ServiceError =>
  new ServiceError(503, 'worker_unavailable', why, retryAfterSeconds)

const inherited = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot']

const startChild = ({ keysFolder, dataFolder, fingerprint = '' }: WorkerPlace): ChildProcess =>
  fork(workerFile, [keysFolder, dataFolder, fingerprint], {
    execArgv: ['--no-env-file'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: Object.fromEntries(inherited.map((name) => [name, process.env[name]])),
  })

const startWorker = (options: TfheProcessOptions & WorkerPlace): Worker => {
  const child = startChild(options)
  // A worker in the middle of a computation does not notice that its parent has ended.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ready = Promise.withResolvers<void>()
  // The worker may fail while no request waits for it.
  ready.promise.catch(() => {})
  let why = 'the TFHE worker ended'
  const worker: Worker = {
    child,
    ready: ready.promise,
    exited: new Promise((resolve) => {
      const end = () => {
        process.off('exit', kill)
        ready.reject(unavailable(why))
        worker.asked?.settle({ state: 'failed', why })
        resolve()
      }
      child.once('exit', end)
      child.once('error', end)
    }),
    asked: undefined,
    wasReady: false,
  }
  child.on('message', (news: WorkerNews) => {
    if ('id' in news) return worker.asked?.settle(news)
    if (news.state === 'ready') {
      worker.wasReady = true
      ready.resolve()
    } else if (news.state === 'failed') why = `the TFHE worker failed: ${news.why}`
    else options.onState(news.state)
  })
  return worker
}

const outputOf = (news: WorkerNews): unknown => {
  if ('output' in news) return news.output
  if ('refused' in news) throw new ServiceError(400, 'refused', news.refused)
  throw unavailable('why' in news ? news.why : 'the TFHE worker ended')
}

const ask = async <Kind extends keyof Work>(
  worker: Worker,
  request: { readonly id: number; readonly kind: Kind; readonly input: Work[Kind]['input'] },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Work[Kind]['output']> => {
  const answer = Promise.withResolvers<WorkerNews>()
  // A computation cannot be interrupted otherwise.
  const timer = setTimeout(() => worker.child.kill('SIGKILL'), timeoutMs)
  try {
    await abortable(worker.ready, signal)
    worker.asked = { id: request.id, settle: answer.resolve }
    worker.child.send(request, (error) => {
      if (error) answer.resolve({ state: 'failed', why: 'the TFHE worker is gone' })
    })
    return outputOf(await answer.promise) as Work[Kind]['output']
  } finally {
    clearTimeout(timer)
    worker.asked = undefined
  }
}

/** Starts the worker, which makes keys when there are none, and resolves when it is ready. Throws its error if it fails. */
export const startTfheProcess = async (options: TfheProcessOptions) => {
  const { workTimeoutMs = defaultWorkTimeoutMs, onEnd } = options
  let stopped = false
  let worker: Worker | undefined
  let waiting = 0
  let lastId = 0
  let fingerprint: string | undefined
  let tail: Promise<void> = Promise.resolve()

  const start = (): Worker => {
    const mine = startWorker({ ...options, fingerprint })
    worker = mine
    void mine.exited.then(() => {
      worker = undefined
      if (stopped) return
      const { wasReady } = mine
      const { exitCode, signalCode } = mine.child
      const how = `the TFHE worker ended (${signalCode ?? exitCode ?? 'it did not start'})`
      // A worker that cannot even start would be restarted for ever. The next request tries again.
      onEnd(wasReady ? `${how}; another takes its place` : how)
      if (wasReady) start()
    })
    return mine
  }
  await start().ready
  fingerprint = fingerprintOf(readKey(options.keysFolder, 'publicKey'))

  return {
    /** Throws ServiceError: 400 for invalid input, 429 when too many requests wait, 503 when the worker died or took too long. */
    run: async <Kind extends keyof Work>(
      kind: Kind,
      input: Work[Kind]['input'],
      signal: AbortSignal,
    ): Promise<Work[Kind]['output']> => {
      if (waiting >= maxWaiting) {
        throw new ServiceError(429, 'too_many_requests', 'too many requests', retryAfterSeconds)
      }
      const before = tail
      const turn = Promise.withResolvers<void>()
      tail = before.then(() => turn.promise)
      waiting++
      try {
        await abortable(before, signal)
        if (stopped) throw unavailable('the coprocessor is stopping')
        const request = { id: ++lastId, kind, input }
        return await ask(worker ?? start(), request, workTimeoutMs, signal)
      } finally {
        waiting--
        turn.resolve()
      }
    },
    /** The process id of the worker, if there is one now. */
    pid: (): number | undefined => worker?.child.pid,
    stop: async (): Promise<void> => {
      stopped = true
      worker?.child.kill('SIGKILL')
      await worker?.exited
    },
  }
}
