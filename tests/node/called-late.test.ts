import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Check } from '../../lib/host/checks.ts'
import { CommitRequest } from '../../lib/schemas/assignments.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { Ack, type AckStatement, AnswerPost, DeliveryPost } from '../../lib/schemas/statements.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { checkFile, quietContext } from './commands/context.ts'
import { startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

/*
 * An ICL that calls a node late. It acknowledges a step, as a node waits for that, and forgets it: real daemons, the real ICL, and
 * between them a few lines that have its key. By itself the receipt holds. What the node has kept shows it to be false.
 */

let icl: RealIcl
let daemons: Awaited<ReturnType<typeof startDaemons>>
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-late-'))
  icl = await startRealIcl()
  daemons = await startDaemons(icl, ['a', 'b', 'c', 'd'])
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  await icl.stop()
  await rm(folder, { recursive: true })
})

type Step = AckStatement['step']

const hashOf: Record<Step, (json: unknown) => Promise<AckStatement['body_hash']>> = {
  commit: async (json) => CommitRequest.parse(json).commitment,
  reveal: async (json) => {
    const { signature: _, ...answer } = AnswerPost.parse(json)
    return statementHash(answer)
  },
  result: async (json) => {
    const { signature: _, ...delivery } = DeliveryPost.parse(json)
    return statementHash(delivery)
  },
}

/** The first node that takes this step is told that the ICL has it, each time; the ICL never hears of it. Gives that node. */
function forget(step: Step) {
  const { tally } = icl.deps.keys
  let victim: (typeof daemons)[number] | undefined
  for (const daemon of daemons) {
    daemon.faults.icl = (request) => {
      if (new URL(request.url).pathname !== `/internal/task/${step}`) return undefined
      victim ??= daemon
      if (victim !== daemon) return undefined
      return (async () => {
        const json = (await request.json()) as Pick<AckStatement, 'jobId' | 'fence'>
        const body: AckStatement = {
          statement: 'svc-ack-v2',
          ...{ jobId: json.jobId, address: daemon.address, fence: json.fence, step },
          body_hash: await hashOf[step](json),
          at: Math.floor(icl.clock.now() / 1000),
        }
        const signature = await tally.sign(statementBytes(body))
        const ack = z.encode(Ack, { body, key: tally.publicKey, signature })
        const status = step === 'commit' ? 'committed' : 'revealed'
        return Response.json({ jobId: json.jobId, status, phase: 'running', ack })
      })()
    }
  }
  return () => victim
}

/** What `svc-node receipt verify` says of a receipt, beside what a node has kept. */
async function verify(receipt: Receipt, acks: readonly Ack[]) {
  const [path, kept] = [join(folder, 'receipt.json'), join(folder, 'acks.jsonl')]
  await writeFile(path, JSON.stringify(z.encode(Receipt, receipt)))
  await writeFile(kept, acks.map((ack) => `${JSON.stringify(z.encode(Ack, ack))}\n`).join(''))
  const context = quietContext({})
  const flags = { with: kept, iclKey: icl.deps.keys.tally.publicKey, json: true }
  const code = await checkFile(path, flags, context)
  const { checks } = JSON.parse(context.printed.join('')) as { checks: readonly Check[] }
  return { code, failed: checks.filter(({ status }) => status === 'failed') }
}

const lies: readonly (readonly [Step, string, RegExp])[] = [
  ['commit', 'a seat that has committed', /its seat was over before \(lease-lapsed\)/],
  ['reveal', 'a seat that has revealed', /the receipt has no answer of it/],
  ['result', 'a turn that has delivered', /the receipt has no such delivery/],
]

describe('an ICL that calls late', () => {
  for (const [step, what, why] of lies) {
    it(`${what} is contradicted by what that node has kept`, async () => {
      const victimOf = forget(step)
      const asked = await icl.ask('Two and two?')
      await icl.clock.advance(300_000)
      expect((await icl.clock.until(asked.view())).status).toBe('accepted')
      const receipt = await icl.clock.until(asked.receipt())
      const victim = victimOf()
      if (!victim) throw new TypeError(`Nobody came to ${step}`)
      for (const { address, acks } of daemons) {
        const { code, failed } = await verify(receipt, acks.kept)
        const objections =
          address === victim.address ? [{ name: 'acks', detail: expect.stringMatching(why) }] : []
        expect(failed).toMatchObject(objections)
        expect(code).toBe(objections.length)
      }
    })
  }
})
