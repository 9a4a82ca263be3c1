import { describe, expect, it, vi } from 'vitest'
import { toBase64Url } from '../../../lib/digest.ts'
import { joinKey, splitKey } from '../../../lib/sealing.ts'
import { runJob } from '../../../node/jobs/run-job.ts'
import { createJobWorld } from '../job-world.ts'

/** Every way in which a key or a half of it could be written down. */
function formsOf(key: Uint8Array): readonly string[] {
  const { high, low } = splitKey(key)
  const halves = [key.slice(0, 16), key.slice(16)]
  return [
    ...[high, low].flatMap((half) => [half.toString(), half.toString(16)]),
    ...[key, ...halves].flatMap((bytes) => {
      const buffer = Buffer.from(bytes)
      return [toBase64Url(bytes), buffer.toString('base64'), buffer.toString('hex'), buffer.join()]
    }),
  ]
}

const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)

describe.each(['leader', 'verifier'] as const)('what a %s logs and writes down', (role) => {
  it('holds no key and no half of one, however it is spelt', async () => {
    const world = await createJobWorld(role)
    const encrypt = vi.spyOn(world.deps.coprocessor, 'encrypt')
    const to_check = await world.delivered('Four.')
    if (role === 'verifier') world.turns.push({ step: 'check', to_check })
    const ignored = { onClaimed: () => {}, onSlotFree: () => {} }
    const { signal } = new AbortController()
    await world.clock.until(runJob(world.deps, world.assignment, signal, ignored))
    const answers = [...world.api.postResult.mock.calls, ...world.api.postVerdict.mock.calls]
    expect(answers).toHaveLength(1)

    const { log, journal, history, acks } = world
    const kept = [log.lines, journal.steps, history.records, acks.kept]
    const written = JSON.stringify(kept, plain)
    expect(written).toContain('prompt key')
    const ofOutput = encrypt.mock.calls.map(([high, low]) => joinKey({ high, low }))
    expect(ofOutput).toHaveLength(role === 'leader' ? 1 : 0)
    for (const key of [world.promptKey, ...ofOutput]) {
      for (const form of formsOf(key)) {
        expect(written.toLowerCase().includes(form.toLowerCase()), form).toBe(false)
      }
    }
  })
})
