// Serves a gateway by Node's adapter, sends it bodies whose length is not announced, and prints the statuses.

import { listen } from '../../../client/packed/listen.ts'
import { acceptedAs, fakeGateway, question } from './fake-client.ts'

const { app } = fakeGateway(() => acceptedAs('Four.', 'openai:one'))
const server = await listen({ hostname: '127.0.0.1', port: 0 }, (request) => app.fetch(request))
const statusOf = async (body: object) => {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Blob([JSON.stringify(body)]).stream(),
    duplex: 'half',
  }
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, init)
  await response.body?.cancel()
  return response.status
}
const tooLong = { ...question(), padding: 'x'.repeat(4_194_304) }
process.stdout.write(JSON.stringify([await statusOf(question()), await statusOf(tooLong)]))
await server.stop(true)
