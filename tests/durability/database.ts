import { findFerretDb, startFerretDb } from '../store/wire-server/ferretdb.ts'
import { createMutex } from '../store/wire-server/mutex.ts'
import { startProxy } from '../store/wire-server/proxy.ts'

/** A database server that can go away. */
export type Database = Awaited<ReturnType<typeof startDatabase>>

/** Starts FerretDB over a folder. */
export async function startDatabase(folder: string) {
  const found = await findFerretDb()
  if ('missing' in found) throw new Error(found.missing)
  let ferret = await startFerretDb(found.path, folder)
  const { port } = ferret
  let mutex = createMutex()
  const proxy = await startProxy({ host: '127.0.0.1', port }, (work) => mutex(work))
  return {
    url: `mongodb://127.0.0.1:${proxy.port}/svc_faults`,
    /** Stands before the server: decides about each command. */
    proxy,
    /** Kills the server; nobody listens there until `start`. */
    kill: async () => {
      await ferret.kill()
      proxy.takeAway()
    },
    /** Starts it again on the same data. */
    start: async () => {
      ferret = await startFerretDb(found.path, folder, port)
      // A command that was under way when its server was killed must not hold up those to the next.
      mutex = createMutex()
      proxy.restore()
    },
    /** Stops the server's process, which keeps its connections, until the function that this returns is called. */
    freeze: () => {
      const { pid } = ferret
      process.kill(pid, 'SIGSTOP')
      return () => process.kill(pid, 'SIGCONT')
    },
    stop: async () => {
      await proxy.close()
      await ferret.kill()
    },
  }
}
