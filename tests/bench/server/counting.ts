// What a job asks of the ICL, counted where it happens: in a server of its own, so that counting costs the measured one nothing.
import nodeCrypto from 'node:crypto'
import { isSettled } from '../../../icl/rules/job.ts'
import type { Host } from '../../../icl/start/host.ts'
import type { Served } from '../../../icl/start/listening.ts'
import { encodeDocument } from '../../../icl/store/encoding.ts'
import type { Store, Write } from '../../../icl/store/store.ts'
import { signatureLabels } from '../../../lib/request-signature.ts'

/** How often something happened since the process started, and with how many bytes. */
export type Counts = ReturnType<typeof zero>

const zero = () => ({
  requests: 0,
  receivedBytes: 0,
  sentBytes: 0,
  /** Requests that a wallet signed: each is a recovery. */
  recoveries: 0,
  verified: 0,
  signed: 0,
  sha256: 0,
  sha256Bytes: 0,
  hmac: 0,
  keccak: 0,
  keccakBytes: 0,
  /** Saves of anything, and those that were refused because another writer was faster. */
  saves: 0,
  refusedSaves: 0,
  jobSaves: 0,
  settledJobs: 0,
  settledBytes: 0,
  /** Commands to MongoDB, by its driver's own monitoring. */
  databaseCommands: 0,
})

const counts = zero()

const add = (name: keyof Counts, by = 1): void => {
  counts[name] += by
}

/** Has every call of a method of an object counted first. */
function watch(target: object, name: string, note: (args: readonly unknown[]) => void): void {
  const inner: unknown = Reflect.get(target, name)
  if (typeof inner !== 'function') throw new TypeError(`There is no ${name} to count`)
  Object.defineProperty(target, name, {
    configurable: true,
    writable: true,
    value(this: unknown, ...args: unknown[]) {
      note(args)
      return inner.apply(this, args)
    },
  })
}

const lengthOf = (value: unknown): number =>
  value instanceof ArrayBuffer || ArrayBuffer.isView(value)
    ? value.byteLength
    : Buffer.byteLength(String(value))

const isNamed = (algorithm: unknown, name: string): boolean =>
  algorithm === name || (algorithm as { readonly name?: string } | null)?.name === name

function countSha256(bytes: number): void {
  add('sha256')
  add('sha256Bytes', bytes)
}

/** Counts signatures and hashes of this process, by whichever way they are made. */
async function countCryptography(): Promise<void> {
  const { subtle } = crypto
  watch(subtle, 'verify', ([algorithm]) => add('verified', Number(isNamed(algorithm, 'Ed25519'))))
  watch(subtle, 'sign', ([algorithm]) => {
    add('signed', Number(isNamed(algorithm, 'Ed25519')))
    add('hmac', Number(isNamed(algorithm, 'HMAC')))
  })
  watch(subtle, 'digest', ([, bytes]) => countSha256(lengthOf(bytes)))
  watch(nodeCrypto, 'verify', () => add('verified'))
  watch(nodeCrypto, 'sign', () => add('signed'))
  watch(nodeCrypto, 'createHmac', () => add('hmac'))
  watch(nodeCrypto, 'hash', ([, bytes]) => countSha256(lengthOf(bytes)))
  const viem = Bun.fileURLToPath(import.meta.resolve('viem'))
  const { sha256 } = await import(Bun.resolveSync('@noble/hashes/sha256', viem))
  const { keccak_256: keccak } = await import(Bun.resolveSync('@noble/hashes/sha3', viem))
  for (const [hash, name] of [
    [sha256, 'sha256'],
    [keccak, 'keccak'],
  ] as const) {
    const prototype = Object.getPrototypeOf(hash.create())
    watch(prototype, 'digestInto', () => add(name))
    watch(prototype, 'update', ([bytes]) => add(`${name}Bytes`, lengthOf(bytes)))
  }
}

/** Counts the commands of all clients that connect from now on. */
async function countDatabaseCommands(): Promise<void> {
  const { MongoClient } = await import('mongodb')
  const { connect } = MongoClient.prototype
  const isWatched = new WeakSet<object>()
  MongoClient.prototype.connect = function (...args) {
    if (!isWatched.has(this)) {
      isWatched.add(this)
      Object.assign(this.options, { monitorCommands: true })
      this.on('commandStarted', ({ commandName }) => {
        add('databaseCommands', Number(!['ping', 'endSessions'].includes(commandName)))
      })
    }
    return connect.apply(this, args)
  }
}

function noteSave(writes: readonly Write[], isRefused: boolean): void {
  const jobs = writes.filter((write) => write.kind === 'job')
  add('saves')
  add('refusedSaves', Number(isRefused))
  add('jobSaves', jobs.length)
  for (const { job } of isRefused ? [] : jobs) {
    if (!isSettled(job.phase) || job.outbox.length > 0) continue
    add('settledJobs')
    add('settledBytes', encodeDocument(job).length)
  }
}

const countedStore = (store: Store): Store =>
  new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(store, name, store)
      if (name === 'save') {
        return async (...args: Parameters<Store['save']>) => {
          const isSaved = await store.save(...args)
          noteSave([args[0]], !isSaved)
          return isSaved
        }
      }
      if (name === 'saveAll') {
        return async (...args: Parameters<Store['saveAll']>) => {
          const refused = await store.saveAll(...args)
          noteSave(args[0], refused !== undefined)
          return refused
        }
      }
      return typeof value === 'function' ? value.bind(store) : value
    },
  })

/** Counts what goes in and out of an application, but for streams. */
export const countedApp = (app: Served): Served =>
  ({
    fetch: async (request: Request, env: object) => {
      const signature = request.headers.get('signature-input') ?? ''
      const response = await app.fetch(request, env)
      add('requests')
      add('receivedBytes', Number(request.headers.get('content-length') ?? 0))
      add('recoveries', Number(signature.startsWith(`${signatureLabels.wallet}=`)))
      const isText = response.headers.get('content-type')?.startsWith('application/json')
      if (isText) add('sentBytes', lengthOf(await response.clone().arrayBuffer()))
      return response
    },
  }) as unknown as Served

/** A host whose process counts from now on. */
export async function countedHost(host: Host): Promise<Host> {
  await countCryptography()
  await countDatabaseCommands()
  return {
    ...host,
    openStore: async (...args) => countedStore(await host.openStore(...args)),
  }
}

export const countCommands = { counts: () => ({ ...counts }) }
