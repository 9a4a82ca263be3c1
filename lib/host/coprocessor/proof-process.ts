// The program of a proof process: one request on standard input, one answer on standard output. It ends with its parent, because the pipe
// closes in any case. To notice that, it leaves the computing to a thread.
import { createFrameReader, frameOf } from './proof-frame.ts'
import type { WorkerAnswer, WorkerRequest } from './proof-work.ts'

type Answer = WorkerAnswer<WorkerRequest['kind']>

const answer = (message: Answer): void => {
  const [head, body] = frameOf(message)
  process.stdout.write(head)
  process.stdout.write(body, () => process.exit(0))
}

const work = (request: unknown): void => {
  const worker = new Worker(new URL('./prove-worker.ts', import.meta.url).href)
  worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => answer(data))
  worker.addEventListener('error', ({ message }) => answer({ failure: message }))
  worker.postMessage(request)
}

// Ctrl-C and service managers signal the whole group. A draining daemon still needs its proof, and kills the process when it does not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const read = createFrameReader()
process.stdin.on('data', (chunk: Uint8Array) => {
  const frame = read(chunk)
  if (frame !== undefined) work(frame.message)
})
for (const end of ['end', 'close', 'error']) process.stdin.on(end, () => process.exit(1))
