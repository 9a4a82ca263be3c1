// The program of a proof process: one request on standard input, one answer on standard output. It ends with its parent,
// whose end of the pipe closes whatever became of it, which is why the computing is left to a thread.
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

// Ctrl-C and service managers tell the whole group. A daemon that drains still needs its proof; it kills what it does not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const read = createFrameReader()
process.stdin.on('data', (chunk: Uint8Array) => {
  const frame = read(chunk)
  if (frame !== undefined) work(frame.message)
})
for (const end of ['end', 'close', 'error']) process.stdin.on(end, () => process.exit(1))
