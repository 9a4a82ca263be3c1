/** What came back. */
export type Answer = { readonly status: number; readonly body: string }

/** A connection that is kept open, for one request after the other. */
export type Connection = {
  readonly send: (request: Uint8Array) => Promise<Answer>
  readonly isOpen: () => boolean
  readonly close: () => void
}

const closed = () => new Error('The server closed the connection')

/** Opens a connection to a server of this machine: as little work for each request as can be, so that the server is what is measured. */
export async function connect(port: number): Promise<Connection> {
  let waiting: ReturnType<typeof Promise.withResolvers<Answer>> | undefined
  let received = ''
  let unsent: Uint8Array | undefined
  let isOpen = true
  const fail = (error: Error) => {
    waiting?.reject(error)
    waiting = undefined
  }
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      binaryType: 'buffer',
      data: (_, chunk) => {
        received += chunk.toString('latin1')
        const whole = parseAnswer(received)
        if (!whole) return
        received = ''
        const asked = waiting
        waiting = undefined
        asked?.resolve(whole)
      },
      drain: (self) => {
        if (!unsent) return
        const written = self.write(unsent)
        unsent = written < unsent.length ? unsent.subarray(written) : undefined
      },
      close: () => {
        isOpen = false
        fail(closed())
      },
      error: (_, error) => fail(error),
    },
  })
  return {
    isOpen: () => isOpen,
    send: (request) => {
      if (!isOpen) return Promise.reject(closed())
      waiting = Promise.withResolvers()
      const written = socket.write(request)
      unsent = written < request.length ? request.subarray(written) : undefined
      return waiting.promise
    },
    close: () => void socket.end(),
  }
}

/** Opens many, some at a time. */
export async function connectMany(ports: readonly number[], count: number): Promise<Connection[]> {
  const opened: Connection[] = []
  while (opened.length < count) {
    const some = Array.from({ length: Math.min(200, count - opened.length) })
    const first = opened.length
    opened.push(...(await Promise.all(some.map((_, index) => connectTo(ports, first + index)))))
  }
  return opened
}

/** Opens the connection that is the turn of one of several servers. */
export const connectTo = (ports: readonly number[], turn: number): Promise<Connection> =>
  connect(ports[turn % ports.length] ?? 0)

const endOfHead = '\r\n\r\n'

/** A whole answer, or undefined while there is more to come. */
function parseAnswer(received: string): Answer | undefined {
  const headEnd = received.indexOf(endOfHead)
  if (headEnd < 0) return undefined
  const head = received.slice(0, headEnd).toLowerCase()
  const bodyStart = headEnd + endOfHead.length
  const status = Number(received.slice(9, 12))
  const lengthAt = head.indexOf('content-length:')
  if (lengthAt >= 0) {
    const length = Number.parseInt(head.slice(lengthAt + 15), 10)
    if (received.length < bodyStart + length) return undefined
    return { status, body: received.slice(bodyStart, bodyStart + length) }
  }
  if (!received.endsWith('0\r\n\r\n')) return undefined
  const body = received.slice(bodyStart).replace(/(^|\r\n)[0-9a-f]+\r\n/g, '')
  return { status, body }
}
