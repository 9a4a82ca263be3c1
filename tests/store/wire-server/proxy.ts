import { connect, createServer, type Socket } from 'node:net'
import { BSON } from 'mongodb'
import { createFrames } from './frames.ts'

/** Where a server listens. */
export type Upstream = { readonly host: string; readonly port: number }

/**
 * What becomes of a command: it goes through; it is carried out, but the connection breaks before its answer; the connection breaks
 * before it; nothing ever comes back; or the server answers with an error of this code.
 */
export type Fate = 'forward' | 'lose-answer' | 'cut' | 'swallow' | { readonly code: number }

/** A proxy before a server that speaks MongoDB's protocol. */
export type WireProxy = {
  readonly port: number
  /** Decides about each command by its name; everything goes through until this is set. */
  fateOf: (command: string) => Fate | Promise<Fate>
  /** Breaks every connection, and takes no new ones until `restore`. */
  readonly takeAway: () => void
  readonly restore: () => void
  readonly close: () => Promise<void>
}

/** Starts a proxy. Clients need `directConnection=true` in their URL: else they go to the server that it names. */
export async function startProxy(server: Upstream): Promise<WireProxy> {
  const clients = new Set<Socket>()
  let away = false
  const listener = createServer((client) => {
    if (away) {
      client.destroy()
      return
    }
    clients.add(client)
    const upstream = connectUpstream(client, server, () => clients.delete(client))
    const pass = async (frame: Buffer) => {
      const command = commandOf(frame)
      const fate = await proxy.fateOf(command)
      if (fate === 'swallow') return
      if (typeof fate === 'object') {
        client.write(refusalOf(frame, fate.code))
        return
      }
      if (fate === 'cut') {
        client.destroy()
        return
      }
      const answer = await upstream.ask(frame)
      if (fate === 'lose-answer') client.destroy()
      else if (answer) client.write(answer)
    }
    client.on(
      'data',
      createFrames((frame) => void pass(frame)),
    )
  })
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  const address = listener.address()
  const proxy: WireProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    fateOf: () => 'forward',
    takeAway: () => {
      away = true
      for (const client of clients) client.destroy()
    },
    restore: () => {
      away = false
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const client of clients) client.destroy()
      }),
  }
  return proxy
}

/** The server's side of one client's connection. */
function connectUpstream(client: Socket, { host, port }: Upstream, onClosed: () => void) {
  const upstream = connect(port, host)
  const waiting: ((answer: Buffer | undefined) => void)[] = []
  let isOver = false
  let isBusy = false
  const end = () => {
    isOver = true
    client.destroy()
    upstream.destroy()
    onClosed()
    for (const resolve of waiting.splice(0)) resolve(undefined)
  }
  client.setNoDelay(true)
  upstream.setNoDelay(true)
  upstream.on(
    'data',
    createFrames((answer) => {
      const resolve = waiting.shift()
      if (resolve) resolve(answer)
      // The first answer to a `hello` may be followed by more, one for each change of the server.
      else client.write(answer)
    }),
  )
  upstream.on('error', () => {})
  client.on('error', () => {})
  upstream.on('close', end)
  // A command that is under way is finished before the next one: only then is its connection closed.
  client.on('close', () => {
    if (!isBusy) end()
  })
  return {
    ask: async (frame: Buffer): Promise<Buffer | undefined> => {
      if (isOver || client.destroyed) return undefined
      isBusy = true
      const answer = new Promise<Buffer | undefined>((resolve) => {
        waiting.push(resolve)
      })
      upstream.write(frame)
      const given = await answer
      isBusy = false
      if (client.destroyed) end()
      return given
    },
  }
}

const opMsg = 2013

/** The answer to a message of a server that refuses it. */
function refusalOf(frame: Buffer, code: number): Buffer {
  const document = BSON.serialize({ ok: 0, code, errmsg: 'refused by a test', codeName: 'Refused' })
  const header = Buffer.alloc(21)
  header.writeInt32LE(header.length + document.length, 0)
  header.writeInt32LE(frame.readInt32LE(4), 8)
  header.writeInt32LE(opMsg, 12)
  return Buffer.concat([header, document])
}

/** The name of the command in a message: the first element of its document. */
function commandOf(frame: Buffer): string {
  if (frame.readInt32LE(12) !== opMsg) return 'hello'
  const name = frame.subarray(26, frame.indexOf(0, 26))
  return name.toString()
}
