import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFrames } from './frames.ts'
import { sideBySide, startProxy, type WireProxy } from './proxy.ts'

/** A message whose document begins with a command. */
function messageOf(command: string): Buffer {
  const name = Buffer.from(`${command}\0`)
  const frame = Buffer.alloc(26 + name.length)
  frame.writeInt32LE(frame.length, 0)
  frame.writeInt32LE(2013, 12)
  name.copy(frame, 26)
  return frame
}

describe('the proxy before a server of MongoDB’s protocol', () => {
  let server: Server
  let proxy: WireProxy
  let most: number
  let underWay: number
  /** What the server has been asked and not answered yet. */
  let asked: (() => void)[]
  const start = async (turns?: typeof sideBySide) => {
    server = createServer((socket) => {
      socket.on('error', () => {})
      const onFrame = createFrames((frame) => {
        underWay += 1
        most = Math.max(most, underWay)
        asked.push(() => {
          underWay -= 1
          socket.write(frame)
        })
      })
      socket.on('data', onFrame)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    proxy = await startProxy({ host: '127.0.0.1', port }, turns)
  }
  const sockets: Socket[] = []
  const send = (command: string) => {
    const socket = connect(proxy.port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    const answer = new Promise<string>((resolve) => {
      socket.on('data', (chunk) => resolve(chunk.toString('latin1').slice(26, -1)))
      socket.on('close', () => resolve('closed'))
    })
    socket.write(messageOf(command))
    return { socket, answer }
  }
  const askedFor = async (count: number) => {
    while (asked.length < count) await new Promise((resolve) => setTimeout(resolve, 2))
    // Whatever else would come, comes.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return asked.length
  }
  const answerNext = () => asked.shift()?.()
  beforeEach(() => {
    most = 0
    underWay = 0
    asked = []
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await proxy.close()
    server.close()
  })

  it('lets one write through at a time, and reads beside it', async () => {
    await start()
    const writes = [send('update'), send('insert'), send('delete')]
    const read = send('find')
    expect(await askedFor(2)).toBe(2)
    for (let left = 4; left > 0; left--) {
      await askedFor(1)
      answerNext()
    }
    const answers = await Promise.all([...writes, read].map(({ answer }) => answer))
    expect(answers).toEqual(['update', 'insert', 'delete', 'find'])
    expect(most).toBe(2)
  })

  it('lets the next write wait for one whose client has gone', async () => {
    await start()
    const gone = send('update')
    await askedFor(1)
    gone.socket.destroy()
    const next = send('insert')
    expect(await askedFor(1)).toBe(1)
    answerNext()
    await askedFor(1)
    answerNext()
    expect(await next.answer).toBe('insert')
    expect(most).toBe(1)
  })

  it('lets everything through at once when it is told to', async () => {
    await start(sideBySide)
    const writes = [send('update'), send('insert')]
    expect(await askedFor(2)).toBe(2)
    answerNext()
    answerNext()
    expect(await Promise.all(writes.map(({ answer }) => answer))).toEqual(['update', 'insert'])
  })

  it('breaks connections, and loses answers', async () => {
    await start()
    proxy.judge = (command) => (command === 'insert' ? 'cut' : 'lose-answer')
    expect(await send('insert').answer).toBe('closed')
    expect(asked).toHaveLength(0)
    const { answer } = send('update')
    await askedFor(1)
    answerNext()
    expect(await answer).toBe('closed')
    proxy.takeAway()
    expect(await send('find').answer).toBe('closed')
    expect(asked).toHaveLength(0)
  })
})
