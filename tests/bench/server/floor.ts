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

/** Microseconds of processor time that the parts of one job take, but for its requests. */
export type FloorParts = {
  readonly signatures: number
  readonly recoveries: number
  readonly hashes: number
  readonly json: number
  readonly append: number
}

const rounds = 7
const jobsOfRound = 96

/** The median of the processor time of several rounds, in microseconds for each job. */
async function measure(work: () => unknown): Promise<number> {
  const found: number[] = []
  // The first compiles.
  for (let round = 0; round <= rounds; round++) {
    const before = process.cpuUsage()
    for (let job = 0; job < jobsOfRound; job++) await work()
    const { user, system } = process.cpuUsage(before)
    if (round > 0) found.push((user + system) / jobsOfRound)
  }
  return median(found)
}

const times = (count: number, work: () => void): void => {
  for (let index = 0; index < Math.round(count); index++) work()
}

/** A JSON text of about so many bytes, with values as long as those of the wire. */
function jsonOf(bytes: number): string {
  const value = 'f'.repeat(64)
  const fields = Math.max(1, Math.round(bytes / 78))
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: fields }, (_, at) => [`field${at}`, value])),
  )
}

const mean = (sum: number, count: number): number => Math.ceil(sum / Math.max(count, 1))

async function measureSignatures({ verified, signed }: JobNeeds): Promise<number> {
  const { privateKey, publicKey } = nodeCrypto.generateKeyPairSync('ed25519')
  const message = nodeCrypto.randomBytes(300)
  const signature = nodeCrypto.sign(null, message, privateKey)
  return measure(() => {
    times(verified, () => nodeCrypto.verify(null, message, publicKey, signature))
    times(signed, () => nodeCrypto.sign(null, message, privateKey))
  })
}

async function measureRecoveries({ recoveries }: JobNeeds): Promise<number> {
  const hash = keccak256('0x01')
  const account = privateKeyToAccount(aHash(`0x${'11'.repeat(32)}`))
  const [bytes, signature] = [hexToBytes(hash), hexToBytes(await account.sign({ hash }))]
  const recover = await loadRecovery()
  const rs = signature.slice(0, 64)
  return measure(() => times(recoveries, () => void recover(bytes, rs, 0)))
}

async function measureHashes(needs: JobNeeds): Promise<number> {
  const text = nodeCrypto.randomBytes(mean(needs.sha256Bytes, needs.sha256))
  const word = nodeCrypto.randomBytes(mean(needs.keccakBytes, needs.keccak))
  const key = nodeCrypto.createSecretKey(nodeCrypto.randomBytes(32))
  return measure(() => {
    times(needs.sha256, () => nodeCrypto.hash('sha256', text, 'buffer'))
    times(needs.hmac, () => nodeCrypto.createHmac('sha256', key).update(text).digest())
    times(needs.keccak, () => keccak256(word))
  })
}

/** Every body is read once and every answer and the job written once. */
async function measureJson(needs: JobNeeds): Promise<number> {
  const body = jsonOf(mean(needs.receivedBytes, needs.requests))
  const answer = JSON.parse(jsonOf(mean(needs.sentBytes, needs.requests)))
  const job = JSON.parse(jsonOf(needs.settledBytes))
  return measure(() => {
    times(needs.requests, () => {
      JSON.parse(body)
      JSON.stringify(answer)
    })
    JSON.stringify(job)
  })
}

/** One record for each job at the end of a file, and one fdatasync for all jobs that are under way at once. */
async function measureAppend({ settledBytes }: JobNeeds, folder: string, group: number) {
  const file = openSync(join(folder, 'floor.log'), 'a')
  const record = Buffer.alloc(Math.ceil(settledBytes), 'x')
  let waiting = 0
  try {
    return await measure(() => {
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
  parts: async ({ needs, group }: { needs: JobNeeds; group: number }): Promise<FloorParts> => ({
    signatures: await measureSignatures(needs),
    recoveries: await measureRecoveries(needs),
    hashes: await measureHashes(needs),
    json: await measureJson(needs),
    append: await measureAppend(needs, folder, group),
  }),
})
