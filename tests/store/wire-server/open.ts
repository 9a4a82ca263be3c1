import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { findFerretDb, startFerretDb } from './ferretdb.ts'
import { createMutex, type Mutex } from './mutex.ts'
import { sideBySide, startProxy, type Upstream } from './proxy.ts'

/** A server that speaks MongoDB's protocol. */
export type WireServer = {
  /** Where a proxy of one's own may connect to, and the mutex under which its commands have to pass. */
  readonly upstream: Upstream
  readonly mutex: Mutex
  /** A URL that names an empty database of its own each time. */
  readonly freshUrl: () => string
  readonly close: () => Promise<void>
}

/** Why there is no server to test with; undefined when there is one. Where everything is tested (CI), having none is an error. */
export async function whyNoWireServer(): Promise<string | undefined> {
  if (process.env.MONGODB_URL) return undefined
  const found = await findFerretDb()
  if (!('missing' in found)) return undefined
  if (process.env.CI === 'true') throw new Error(found.missing)
  return found.missing
}

/** The server of MONGODB_URL as it is, else FerretDB behind the proxy that makes its updates atomic. */
export function openWireServer(): Promise<WireServer> {
  const given = process.env.MONGODB_URL
  return given ? openGiven(given) : openFerretDb()
}

const hostAndPort = /^mongodb:\/\/(?:[^@/]*@)?([^/:,?]+)(?::(\d+))?/

async function openGiven(url: string): Promise<WireServer> {
  const [, host, port] = hostAndPort.exec(url) ?? []
  if (!host) throw new Error('MONGODB_URL has to look like mongodb://HOST:PORT/')
  const used: string[] = []
  return {
    upstream: { host, port: Number(port ?? 27_017) },
    mutex: sideBySide,
    freshUrl: () => {
      const fresh = withFreshDatabase(url)
      used.push(fresh)
      return fresh
    },
    close: async () => {
      for (const fresh of used) await dropDatabase(fresh)
    },
  }
}

async function openFerretDb(): Promise<WireServer> {
  const found = await findFerretDb()
  if ('missing' in found) throw new Error(found.missing)
  const folder = mkdtempSync(join(tmpdir(), 'svc-ferretdb-'))
  const ferret = await startFerretDb(found.path, folder)
  const upstream = { host: '127.0.0.1', port: ferret.port }
  const mutex = createMutex()
  const proxy = await startProxy(upstream, mutex)
  return {
    upstream,
    mutex,
    freshUrl: () => withFreshDatabase(`mongodb://127.0.0.1:${proxy.port}/`),
    close: async () => {
      await proxy.close()
      await ferret.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const parts = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/

const withFreshDatabase = (url: string): string => {
  const name = `svc_test_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`
  return url.replace(parts, (_, server: string, options = '') => `${server}/${name}${options}`)
}

async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url)
  await client.db().dropDatabase()
  await client.close()
}
