// The floor of a job: what it asks of the ICL, done once more with the fastest calls of the host, and nothing besides.

import nodeCrypto from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { hexToBytes, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Served } from '../../../icl/start/listening.ts'
import { loadRecovery } from '../../../icl/start/machine.ts'
import { aHash } from '../../branded.ts'
import { median } from '../table.ts'
import type { Counts } from './counting.ts'

/** What one job asks: means, so that they need not be whole. */
export type JobNeeds = Readonly<Omit<Counts, 'settledJobs'>>

/**
 * The job that the floor is pinned to: as counted on 27 November 2026, at the means of bytes of that count. A check that is no longer made
 * since then counts as a gain, and does not lower the floor.
 */
export const pinnedNeeds = {
  requests: 15,
  receivedBytes: 5_850,
  sentBytes: 13_790,
  recoveries: 2,
  verified: 18.9,
  signed: 9,
  sha256: 30,
  sha256Bytes: 23_370,
  hmac: 1,
  keccak: 23,
  keccakBytes: 2_730,
  settledBytes: 11_880,
} as const satisfies Partial<JobNeeds>

/** Microseconds of processor time that one of each takes, at the sizes of `pinnedNeeds`, by the fastest call of this host. */
export type UnitCosts = {
  readonly verified: number
  readonly signed: number
  /** In WebAssembly. */
  readonly recoveries: number
  readonly sha256: number
  readonly hmac: number
  readonly keccak: number
  /** A body read once and an answer written once. */
  readonly json: number
  /** The settled job written once. */
  readonly jobJson: number
  /** One record at the end of a file, with its share of one fdatasync for all jobs that are under way at once. */
  readonly append: number
}

const rounds = 7
const timesOfRound = 192
/** After so many calls the runtime has compiled them, as it has those of an ICL that runs for a while. */
const warmUps = 2_000

/** The median of the processor time of several rounds, in microseconds for each time. */
function measure(work: () => unknown): number {
  for (let count = 0; count < warmUps; count++) work()
  const found = Array.from({ length: rounds }, () => {
    const before = process.cpuUsage()
    for (let count = 0; count < timesOfRound; count++) work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / timesOfRound
  })
  return median(found)
}

/** A JSON text of about so many bytes, with values as long as those of the wire. */
function jsonOf(bytes: number): string {
  const value = 'f'.repeat(64)
  const fields = Math.max(1, Math.round(bytes / 78))
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: fields }, (_, at) => [`field${at}`, value])),
  )
}

const { requests, settledBytes } = pinnedNeeds

function measureSignatures() {
  const { privateKey, publicKey } = nodeCrypto.generateKeyPairSync('ed25519')
  const message = nodeCrypto.randomBytes(300)
  const signature = nodeCrypto.sign(null, message, privateKey)
  return {
    verified: measure(() => nodeCrypto.verify(null, message, publicKey, signature)),
    signed: measure(() => nodeCrypto.sign(null, message, privateKey)),
  }
}

async function measureRecovery(): Promise<number> {
  const hash = keccak256('0x01')
  const account = privateKeyToAccount(aHash(`0x${'11'.repeat(32)}`))
  const [bytes, signature] = [hexToBytes(hash), hexToBytes(await account.sign({ hash }))]
  const recover = await loadRecovery()
  const rs = signature.slice(0, 64)
  return measure(() => recover(bytes, rs, 0))
}

function measureHashes() {
  const text = nodeCrypto.randomBytes(pinnedNeeds.sha256Bytes / pinnedNeeds.sha256)
  const word = nodeCrypto.randomBytes(pinnedNeeds.keccakBytes / pinnedNeeds.keccak)
  const key = nodeCrypto.createSecretKey(nodeCrypto.randomBytes(32))
  return {
    sha256: measure(() => nodeCrypto.hash('sha256', text, 'buffer')),
    hmac: measure(() => nodeCrypto.createHmac('sha256', key).update(text).digest()),
    keccak: measure(() => keccak256(word)),
  }
}

function measureJson() {
  const body = jsonOf(pinnedNeeds.receivedBytes / requests)
  const answer = JSON.parse(jsonOf(pinnedNeeds.sentBytes / requests))
  const job = JSON.parse(jsonOf(settledBytes))
  return {
    json: measure(() => [JSON.parse(body), JSON.stringify(answer)]),
    jobJson: measure(() => JSON.stringify(job)),
  }
}

function measureAppend(folder: string, group: number): number {
  const file = openSync(join(folder, 'floor.log'), 'a')
  const record = Buffer.alloc(settledBytes, 'x')
  let waiting = 0
  try {
    return measure(() => {
      writeSync(file, record)
      if (++waiting % group === 0) fdatasyncSync(file)
    })
  } finally {
    closeSync(file)
  }
}

/** Reads what it is sent, and answers as much as the ICL does. */
export function floorApp(answerBytes: number): Served {
  const answer = jsonOf(answerBytes)
  const headers = { 'content-type': 'application/json' }
  const reply = () => new Response(answer, { headers })
  return {
    fetch: (request: Request) => (request.method === 'GET' ? reply() : request.text().then(reply)),
  } as unknown as Served
}

export const floorCommands = (folder: string) => ({
  units: async ({ group }: { group: number }): Promise<UnitCosts> => ({
    ...measureSignatures(),
    recoveries: await measureRecovery(),
    ...measureHashes(),
    ...measureJson(),
    append: measureAppend(folder, group),
  }),
})
