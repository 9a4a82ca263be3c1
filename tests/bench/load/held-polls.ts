import type { NodeSigner } from '../../../lib/request-signature.ts'
import { type Connection, connectMany } from './connection.ts'
import { requestBytes } from './signed-request.ts'
import { poll } from './wire-calls.ts'

/** Has every node send one long-poll that nothing answers for half a minute; gives what ends them. */
export async function holdPolls(port: number, nodes: readonly NodeSigner[]): Promise<() => void> {
  const connections: Connection[] = []
  // Signed beforehand, so that the first is still held when the last has come.
  const requests = await Promise.all(
    nodes.map((node) => requestBytes(poll(node.address, 30), node)),
  )
  connections.push(...(await connectMany([port], nodes.length)))
  for (const [index, connection] of connections.entries()) {
    const request = requests[index]
    if (request) connection.send(request).catch(() => {})
  }
  return () => {
    for (const connection of connections) connection.close()
  }
}
