import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import type { Blobs } from '../../lib/blobs/blobs.ts'
import { cidOf } from '../../lib/cid.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import type { Coprocessor } from '../../lib/coprocessor/coprocessor.ts'
import { sha256 } from '../../lib/digest.ts'
import type { Random } from '../../lib/random.ts'
import type { Ack } from '../../lib/schemas/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { NodeChain, OutputKey } from '../../node/chain/chain.ts'
import type { JobRecord } from '../../node/journal/history.ts'
import {
  entryOf,
  type JournalEntry,
  JournalStep,
  type SignedStep,
  signedIn,
} from '../../node/journal/steps.ts'
import type { Log } from '../../node/log.ts'
import { aJobId, anAddress } from '../branded.ts'

/** The private keys of the nodes of a job, by address. */
export const nodeKeys = new Map<Address, `0x${string}`>()
const nodeOf = (byte: string): Address => {
  const key = `0x${byte.repeat(32)}` as const
  const address = anAddress(privateKeyToAccount(key).address.toLowerCase())
  nodeKeys.set(address, key)
  return address
}
export const nodeAddress: Address = nodeOf('a1')
export const leaderAccount = privateKeyToAccount(`0x${'b2'.repeat(32)}`)
export const leaderAddress: Address = nodeOf('b2')
export const clientAddress: Address = anAddress(`0x${'c3'.repeat(20)}`)
export const verifierAddresses: readonly [Address, Address] = [nodeOf('d4'), nodeOf('e5')]
/** On the client's list, and not needed. */
export const spareAddress: Address = nodeOf('a7')
export const coordinatorAddress: Address = anAddress(`0x${'f6'.repeat(20)}`)
export const icl = 'http://icl.example'
export const jobId: JobId = aJobId(`0x${'11'.repeat(32)}`)
export const modelId = 'openai:test-model'

/** Bytes that count up: every call gives others. */
export function countingRandom(): Random {
  let next = 1
  return {
    bytes: (length) => new Uint8Array(length).map(() => next++ % 251),
  }
}

/** What storing a key takes on a chain that is none. */
export const storeCosts = { txHash: `0x${'88'.repeat(32)}`, gasUsed: 250_000n } as const

/** A log that keeps its lines as `LEVEL message`. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    debug: (message) => void lines.push(`DEBUG ${message}`),
    info: (message) => void lines.push(`INFO ${message}`),
    warning: (message) => void lines.push(`WARNING ${message}`),
    error: (message) => void lines.push(`ERROR ${message}`),
  }
}

/** Refuses a half of a key to those who were not granted it. */
export const denied = () =>
  new SvcError('coprocessor-access-denied', 'CoFHE decrypt failed: FHE decrypt denied (403)', {
    hint: 'No grant.',
  })

/** A coprocessor that keeps halves by handle and lets nobody read what was not granted. */
export function fakeCoprocessor() {
  const halves = new Map<bigint, bigint>()
  const granted = new Set<bigint>()
  let next = 1_000n
  const input = (half: bigint) => {
    const ctHash = next++
    halves.set(ctHash, half)
    return { ctHash, securityZone: 0, utype: 6, signature: '0x00' as const }
  }
  const coprocessor: Coprocessor = {
    encrypt: async (high, low) => ({ high: input(high), low: input(low) }),
    decrypt: async (handle) => {
      const half = halves.get(handle)
      if (half === undefined || !granted.has(handle)) throw denied()
      return half
    },
  }
  return {
    ...coprocessor,
    granted,
    /** Stores a half as the contract would: under a handle of its own. */
    store: (half: bigint): bigint => {
      const handle = 2n ** 200n + next++
      halves.set(handle, half)
      return handle
    },
    plain: (ctHash: bigint) => halves.get(ctHash) ?? 0n,
  }
}

export type FakeCoprocessor = ReturnType<typeof fakeCoprocessor>

/** A chain that keeps what it was asked to do. */
export function fakeChain(coprocessor: FakeCoprocessor) {
  const stored: OutputKey[] = []
  /** What prompt keys are bound to, by the high handle. */
  const commitments = new Map<bigint, Hash32>()
  const state: {
    paidFor: number
    block: bigint
    lastHeartbeat: number
    isRegistered: boolean
    heartbeats: number
    /** The hosts of RPCs that were left. */
    left: string[]
  } = {
    paidFor: 100,
    block: 100n,
    left: [],
    lastHeartbeat: 0,
    isRegistered: true,
    heartbeats: 0,
  }
  const chain: NodeChain = {
    registration: async () =>
      state.isRegistered ? { lastHeartbeat: state.lastHeartbeat, modelTiers: [0] } : undefined,
    answersPaidFor: async () => state.paidFor,
    newestBlock: async () => ({ number: state.block, timestamp: 0, host: 'rpc.example' }),
    leaveRpc: (host) => void state.left.push(host),
    listCommitmentOf: async (high) => commitments.get(high),
    sendHeartbeat: async () => {
      state.heartbeats++
      return `0x${'99'.repeat(32)}`
    },
    storeOutputKey: async (key) => {
      if (state.paidFor === 0) {
        throw new SvcError('chain-wallet-empty', 'no funds for gas', { hint: 'Send gas money.' })
      }
      stored.push(key)
      return {
        highHandle: coprocessor.store(coprocessor.plain(key.high.ctHash)),
        lowHandle: coprocessor.store(coprocessor.plain(key.low.ctHash)),
        ...storeCosts,
      }
    },
  }
  return { ...chain, stored, commitments, state }
}

/** A journal in memory, which goes through the same form as the file; `entry` is what a restarted daemon would find. */
export function memoryJournal(steps: JournalStep[] = []) {
  return {
    unfinished: [] as readonly JournalEntry[],
    steps,
    isSigned: (id: Pick<JournalStep, 'jobId' | 'fence'>) =>
      steps.some((step) => isAbout(step, id) && signedIn(step) !== undefined),
    hasSigned: (signed: SignedStep) =>
      steps.some((step) => isAbout(step, signed) && signedIn(step) === signedIn(signed)),
    askedFor: (id: JobId) =>
      steps.filter(({ step, jobId: of }) => step === 'asked' && of === id).length,
    note: (step: JournalStep) => {
      const line = JSON.stringify(z.encode(JournalStep, step))
      steps.push(JournalStep.parse(JSON.parse(line)))
    },
    entry: () => entryOf(steps),
  }
}

const isAbout = (step: JournalStep, id: Pick<JournalStep, 'jobId' | 'fence'>): boolean =>
  step.jobId === id.jobId && step.fence === id.fence

/** The acknowledgements of the ICL, in memory. */
export function memoryAcks() {
  const kept: Ack[] = []
  return { kept, keep: (ack: Ack) => void kept.push(ack) }
}

/** A history in memory. */
export function memoryHistory() {
  const records: JobRecord[] = []
  return { records, append: (record: JobRecord) => void records.push(record) }
}

/** A blob store without a network. */
export function fakeBlobs() {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>()
  const port: Blobs = {
    download: async (cid) => {
      const blob = blobs.get(cid)
      if (blob) return blob
      throw new SvcError('blob-unavailable', `${cid}: gateway answered 404`, { hint: 'Wait.' })
    },
  }
  return {
    ...port,
    blobs,
    put: async (blob: Uint8Array<ArrayBuffer>) => {
      const cid = await cidOf(blob)
      blobs.set(cid, blob)
      return cid
    },
  }
}

/** A salt or hash that a test can tell from others. */
export const bytesOf = (text: string) => sha256(new TextEncoder().encode(text))
