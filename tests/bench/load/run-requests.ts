import type { Connection } from './connection.ts'

/** Sends every request once, over all connections at the same time; answers the seconds that it took. Throws unless every answer is 200. */
export async function runRequests(
  connections: readonly Connection[],
  requests: readonly Uint8Array[],
): Promise<number> {
  let next = 0
  const startedAt = performance.now()
  const work = async (connection: Connection) => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const { status, body } = await connection.send(request)
      if (status !== 200) throw new Error(`An answer has the status ${status}: ${body}`)
    }
  }
  await Promise.all(connections.map(work))
  return (performance.now() - startedAt) / 1000
}
