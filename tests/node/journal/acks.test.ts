import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unixSeconds } from '../../../lib/clock.ts'
import { Ack } from '../../../lib/schemas/statements.ts'
import { acksPathOf, openAcks } from '../../../node/journal/acks.ts'
import { aHash } from '../../branded.ts'
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts'
import { jobId, nodeAddress } from '../fakes.ts'
import { createJobWorld } from '../job-world.ts'

let folder: string
let path: string
let clock: VirtualClock
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-acks-'))
  path = acksPathOf(join(folder, 'config.json'))
  clock = createVirtualClock()
})
afterEach(() => rm(folder, { recursive: true }))

const { iclKey } = await createJobWorld('leader')
const signature = await iclKey.sign(new Uint8Array(1))
const ackOf = (fence: number): Ack => ({
  body: {
    ...{ statement: 'svc-ack-v2', jobId, address: nodeAddress, fence, step: 'commit' },
    ...{ body_hash: aHash(`0x${'77'.repeat(32)}`), at: unixSeconds(clock) },
  },
  key: iclKey.publicKey,
  signature,
})
const fencesOf = (file = path) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Ack.parse(JSON.parse(line)).body.fence)

const dayMs = 86_400_000

describe('the acknowledgements of the ICL', () => {
  it('are kept beside the configuration, one a line, for the owner only', () => {
    const acks = openAcks(path, clock)
    for (const fence of [1, 2]) acks.keep(ackOf(fence))
    acks.close()
    expect(fencesOf()).toEqual([1, 2])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('go after 30 days, at a start and while the daemon runs', async () => {
    const acks = openAcks(path, clock)
    acks.keep(ackOf(1))
    await clock.advance(20 * dayMs)
    acks.keep(ackOf(2))
    await clock.advance(11 * dayMs)
    acks.keep(ackOf(3))
    expect(fencesOf()).toEqual([2, 3])
    acks.close()
    await clock.advance(20 * dayMs)
    openAcks(path, clock).close()
    expect(fencesOf()).toEqual([3])
  })

  it('stay when the clock of this machine leaps ahead of the ICL, which dated them', async () => {
    const acks = openAcks(path, clock)
    const first = ackOf(1)
    acks.keep(first)
    await clock.advance(40 * dayMs)
    acks.keep({ ...first, body: { ...first.body, fence: 2 } })
    acks.close()
    expect(fencesOf()).toEqual([1, 2])
  })

  it('take no more room than two files, whatever the ICL says that the time is', () => {
    const acks = openAcks(path, clock, 2_000)
    for (let fence = 1; fence <= 20; fence++) {
      const ack = ackOf(fence)
      acks.keep({ ...ack, body: { ...ack.body, at: 99_999_999_999 } })
    }
    acks.close()
    expect(fencesOf().at(-1)).toBe(20)
    expect(fencesOf(`${path}.1`).at(-1)).toBe(fencesOf()[0]! - 1)
    expect(readdirSync(folder).toSorted()).toEqual(['acks.jsonl', 'acks.jsonl.1'])
    for (const file of [path, `${path}.1`]) expect(statSync(file).size).toBeLessThanOrEqual(2_000)
  })

  it('go after 30 days from the older file, too', async () => {
    const acks = openAcks(path, clock, 700)
    for (const fence of [1, 2, 3]) acks.keep(ackOf(fence))
    acks.close()
    await clock.advance(31 * dayMs)
    openAcks(path, clock, 700).close()
    for (const file of [path, `${path}.1`]) expect(statSync(file).size).toBe(0)
  })

  it('say which file cannot be used', async () => {
    expect(() => openAcks(join(folder), clock)).toThrow(
      expect.objectContaining({ code: 'acks-unusable', message: expect.stringContaining(folder) }),
    )
  })
})
