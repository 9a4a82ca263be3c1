// Serves a gateway by Node's adapter and prints what it makes of two bodies whose length is not announced, and of a caller who leaves.

import { listen } from '../../../client/packed/listen.ts'
import { acceptedAs, fakeGateway, question } from './fake-client.ts'

const asked = Promise.withResolvers<void>()
const { app, lines } = fakeGateway((prompt, { signal }) => {
  if (!JSON.stringify(prompt).includes('Wait')) return acceptedAs('Four.', 'openai:one')
  asked.resolve()
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
})
const answered = Promise.withResolvers<void>()
const server = await listen({ hostname: '127.0.0.1', port: 0 }, async (request) => {
  try {
    return await app.fetch(request)
  } finally {
    if (request.signal.aborted) answered.resolve()
  }
})
const url = `http://127.0.0.1:${server.port}/v1/chat/completions`
const headers = { 'content-type': 'application/json' }
const statusOf = async (body: object) => {
  const stream = new Blob([JSON.stringify(body)]).stream()
  // Not every runtime's types know `duplex`.
  const init = { method: 'POST', headers, body: stream, duplex: 'half' }
  const response = await fetch(url, init)
  await response.body?.cancel()
  return response.status
}
const tooLong = { ...question(), padding: 'x'.repeat(4_194_304) }
const statuses = [await statusOf(question()), await statusOf(tooLong)]

const leave = new AbortController()
const body = JSON.stringify(question({ messages: [{ role: 'user', content: 'Wait' }] }))
const left = fetch(url, { method: 'POST', headers, body, signal: leave.signal })
await asked.promise
leave.abort()
await left.catch(() => {})
await answered.promise
process.stdout.write(JSON.stringify({ statuses, told: lines.map(({ status }) => status) }))
await server.stop(true)
