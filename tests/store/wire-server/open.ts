import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import type { Upstream } from './proxy.ts'
import { findSecantusDb, startSecantusDb } from './secantusdb.ts'

/** A server that speaks MongoDB's protocol. */
export type WireServer = {
  /** Where a proxy of one's own may connect to. */
  readonly upstream: Upstream
  /** A URL that names an empty database of its own each time. */
  readonly freshUrl: () => string
  readonly close: () => Promise<void>
}

/** Why there is no server to test with; undefined when there is one. Where everything is tested (CI), having none is an error. */
export async function whyNoWireServer(): Promise<string | undefined> {
  if (process.env.MONGODB_URL) return undefined
  const found = await findSecantusDb()
  if (!('missing' in found)) return undefined
  if (process.env.CI === 'true') throw new Error(found.missing)
  return found.missing
}

/** The server of MONGODB_URL, else SecantusDB. */
export function openWireServer(): Promise<WireServer> {
  const given = process.env.MONGODB_URL
  return given ? openGiven(given) : openSecantusDb()
}

const hostAndPort = /^mongodb:\/\/(?:[^@/]*@)?([^/:,?]+)(?::(\d+))?/

async function openGiven(url: string): Promise<WireServer> {
  const [, host, port] = hostAndPort.exec(url) ?? []
  if (!host) throw new Error('MONGODB_URL has to look like mongodb://HOST:PORT/')
  const used: string[] = []
  return {
    upstream: { host, port: Number(port ?? 27_017) },
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

async function openSecantusDb(): Promise<WireServer> {
  const found = await findSecantusDb()
  if ('missing' in found) throw new Error(found.missing)
  const folder = mkdtempSync(join(tmpdir(), 'svc-secantusdb-'))
  const { port, kill } = await startSecantusDb(found.path, folder)
  return {
    upstream: { host: '127.0.0.1', port },
    freshUrl: () => withFreshDatabase(`mongodb://127.0.0.1:${port}/`),
    close: async () => {
      await kill()
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
