import { createSocket } from 'node:dgram'
import { stat } from 'node:fs/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createNameLookup } from '../../../icl/start/public-names.ts'

const stops: (() => unknown)[] = []
afterAll(() => {
  for (const stop of stops) stop()
})

/** Starts a name server, and returns the look-up that asks it. */
async function lookupAt(respond: (query: Buffer) => Buffer | undefined) {
  const socket = createSocket('udp4')
  stops.push(() => socket.close())
  socket.on('message', (query, { port, address }) => {
    const response = respond(query)
    if (response) socket.send(response, port, address)
  })
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve)
  })
  return createNameLookup([`127.0.0.1:${socket.address().port}`])
}

const typeA = 1

/** The response with one IPv4 address and no other. */
function oneAddress(query: Buffer): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const isA = question.readUInt16BE(question.length - 4) === typeA
  const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0])
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
  return Buffer.concat([head, question, ...(isA ? [answer] : [])])
}

describe('the look-up of a public name', () => {
  it('returns its addresses', async () => {
    const lookUp = await lookupAt(oneAddress)
    expect(await lookUp('receiver.example')).toEqual(['192.0.2.7'])
  })

  it('leaves the threads of the process free while a name server is silent', async () => {
    const lookUp = await lookupAt(() => undefined)
    const names = Array.from({ length: 32 }, (_, index) => lookUp(`name-${index}.example`))
    const first = await Promise.race([stat(import.meta.filename).then(() => 'file'), ...names])
    expect(first).toBe('file')
  })
})
