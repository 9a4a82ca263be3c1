import { startProxy } from '../store/wire-server/proxy.ts'
import { findSecantusDb, startSecantusDb } from '../store/wire-server/secantusdb.ts'

/** A database server that can go away. */
export type Database = Awaited<ReturnType<typeof startDatabase>>

/** Starts SecantusDB over a folder. */
export async function startDatabase(folder: string) {
  const found = await findSecantusDb()
  if ('missing' in found) throw new Error(found.missing)
  let server = await startSecantusDb(found.path, folder)
  const { port } = server
  const proxy = await startProxy({ host: '127.0.0.1', port })
  return {
    url: `mongodb://127.0.0.1:${proxy.port}/svc_faults?directConnection=true`,
    /** Stands before the server: decides about each command. */
    proxy,
    /** Kills the server; nobody listens there until `start`. */
    kill: async () => {
      await server.kill()
      proxy.takeAway()
    },
    /** Starts it again on the same data. */
    start: async () => {
      server = await startSecantusDb(found.path, folder, port)
      proxy.restore()
    },
    /** Stops the server's process, which keeps its connections, until the function that this returns is called. */
    freeze: () => {
      const { pid } = server
      process.kill(pid, 'SIGSTOP')
      return () => process.kill(pid, 'SIGCONT')
    },
    stop: async () => {
      await proxy.close()
      await server.kill()
    },
  }
}
