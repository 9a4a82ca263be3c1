import { connect } from 'node:net'

/** Asks `/readyz` again and again on one connection, until a response ends it. Resolves with that response, or what came of it when the connection ended first. */
export async function keepAsking(url: string, onAnswer: () => void): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let answer = ''
  const ask = () => {
    answer = ''
    socket.write('GET /readyz HTTP/1.1\r\nhost: icl.test\r\n\r\n')
  }
  socket.on('error', () => {})
  socket.once('connect', ask)
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
    // The body is one JSON object.
    if (!answer.endsWith('}')) return
    onAnswer()
    if (/^connection: close/im.test(answer)) socket.end()
    else ask()
  })
  await closed
  return answer
}
