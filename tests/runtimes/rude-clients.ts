import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { submitJob } from './job.ts'
import type { RunningIcl } from './running-icl.ts'

async function connectTo(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The status of what a request without a body gets, whose host header may be anything. */
export async function statusFor(url: string, target: string, host: string): Promise<number> {
  const socket = await connectTo(url)
  socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  const answer = await text(socket)
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])
}

/** Sends half a body, and goes. */
export async function sendHalf(url: string): Promise<void> {
  const socket = await connectTo(url)
  const head = 'POST /v1/blobs HTTP/1.1\r\nhost: icl.test\r\ncontent-length: 1000\r\n\r\n'
  await new Promise((resolve) => socket.write(`${head}${'x'.repeat(500)}`, resolve))
  socket.destroy()
}

/** Opens the event stream of a job that nobody works on, and reads a piece of it; calling what this gives goes away. */
export async function openStream(icl: RunningIcl): Promise<() => void> {
  const { jobId, readToken } = await submitJob(icl.world, icl.outside, await icl.nodes())
  const leave = new AbortController()
  const response = await icl.ask(`/v1/inference/${jobId}/events`, {
    headers: { authorization: `Bearer ${readToken}` },
    signal: leave.signal,
  })
  const reader = response.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  if (!value) throw new Error(`There is no stream: ${response.status}`)
  return () => {
    // A body that nothing refers to is closed by the collector.
    reader?.closed.catch(() => {})
    leave.abort()
  }
}
