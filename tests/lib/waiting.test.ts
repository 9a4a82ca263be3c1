import { describe, expect, it } from 'vitest'
import { withGrace } from '../../lib/client/with-grace.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { readLimited } from '../../lib/read-limited.ts'
import { retrying } from '../../lib/retry.ts'
import { createVirtualClock } from '../virtual-clock.ts'

/** Work that heeds its signal, and what became of it. */
function createWork() {
  const seen: { signal?: AbortSignal } = {}
  const body = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      seen.signal = signal
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  return { seen, body }
}

const late = new Error('late')
const enough = new Error('enough')

describe('work with a deadline', () => {
  it('gives what it gives when it is in time, and is not stopped afterwards', async () => {
    const clock = createVirtualClock()
    let signal: AbortSignal | undefined
    const result = withDeadline(
      clock,
      100,
      undefined,
      () => late,
      async (own) => {
        signal = own
        await clock.sleep(99)
        return 5
      },
    )
    expect(await clock.until(result)).toBe(5)
    await clock.advance(1_000)
    expect(signal?.aborted).toBe(false)
  })

  it('is stopped at its deadline, and is over even if it goes on', async () => {
    const clock = createVirtualClock()
    const { seen, body } = createWork()
    const heedful = withDeadline(clock, 100, undefined, () => late, body)
    await expect(clock.until(heedful)).rejects.toBe(late)
    expect(seen.signal?.reason).toBe(late)
    const deaf = withDeadline(
      clock,
      100,
      undefined,
      () => late,
      () => new Promise(() => {}),
    )
    await expect(clock.until(deaf)).rejects.toBe(late)
  })

  it('is stopped, or not begun, when its caller gives up', async () => {
    const clock = createVirtualClock()
    const caller = new AbortController()
    const { seen, body } = createWork()
    const call = withDeadline(clock, 100, caller.signal, () => late, body)
    const outcome = call.catch((error: unknown) => error)
    caller.abort(enough)
    expect(await outcome).toBe(enough)
    expect(seen.signal?.reason).toBe(enough)
    const never = createWork()
    const refused = withDeadline(clock, 100, caller.signal, () => late, never.body)
    await expect(refused).rejects.toBe(enough)
    expect(never.seen.signal).toBeUndefined()
  })

  it('that fails fails with its own error', async () => {
    const clock = createVirtualClock()
    const failing = withDeadline(
      clock,
      100,
      undefined,
      () => late,
      () => Promise.reject(enough),
    )
    await expect(clock.until(failing)).rejects.toBe(enough)
  })
})

describe('work with a grace', () => {
  it('goes on for a while after its caller has given up', async () => {
    const clock = createVirtualClock()
    const caller = new AbortController()
    const { seen, body } = createWork()
    const call = withGrace(clock, 500, caller.signal, body)
    const outcome = call.catch((error: unknown) => error)
    caller.abort(enough)
    await clock.advance(499)
    expect(seen.signal?.aborted).toBe(false)
    await clock.advance(1)
    expect(seen.signal?.reason).toBe(enough)
    expect(await outcome).toBe(enough)
  })

  it('that is done meanwhile is not stopped', async () => {
    const clock = createVirtualClock()
    const caller = new AbortController()
    let own: AbortSignal | undefined
    const call = withGrace(clock, 500, caller.signal, async (signal) => {
      own = signal
      await clock.sleep(300)
      return 7
    })
    caller.abort(enough)
    expect(await clock.until(call)).toBe(7)
    await clock.advance(1_000)
    expect(own?.aborted).toBe(false)
  })

  it('is not begun when its caller has given up before, and needs none', async () => {
    const clock = createVirtualClock()
    const { seen, body } = createWork()
    await expect(withGrace(clock, 500, AbortSignal.abort(enough), body)).rejects.toBe(enough)
    expect(seen.signal).toBeUndefined()
    expect(await withGrace(clock, 500, undefined, async () => 3)).toBe(3)
  })
})

describe('trying again', () => {
  const policy = { attempts: 4, firstDelayMs: 100, maxDelayMs: 300 }
  const attemptsOf = async (asked: number | undefined, signal?: AbortSignal, succeedsAt = 9) => {
    const clock = createVirtualClock()
    const began = clock.now()
    const tries: [number, number][] = []
    const call = retrying(
      clock,
      policy,
      signal,
      () => asked,
      async (attempt) => {
        tries.push([attempt, clock.now() - began])
        if (attempt === succeedsAt) return 'done'
        throw enough
      },
    )
    const outcome = await clock.until(call.catch((error: unknown) => error))
    return { tries, outcome }
  }

  it('takes as many attempts as allowed, with waits that double up to the longest', async () => {
    expect(await attemptsOf(0)).toEqual({
      tries: [
        [1, 0],
        [2, 100],
        [3, 300],
        [4, 600],
      ],
      outcome: enough,
    })
  })

  it('waits as long as the error asks for', async () => {
    const { tries } = await attemptsOf(150)
    expect(tries.map(([, at]) => at)).toEqual([0, 150, 350, 650])
  })

  it('ends with success, with what is no use to try again, or when the caller gives up', async () => {
    expect(await attemptsOf(0, undefined, 2)).toMatchObject({ outcome: 'done' })
    expect((await attemptsOf(undefined)).tries).toEqual([[1, 0]])
    const given = await attemptsOf(0, AbortSignal.abort(new Error('stop')))
    expect(given).toEqual({ tries: [[1, 0]], outcome: enough })
  })
})

it('a body is read whole up to its limit, and not a byte beyond', async () => {
  const bodyOf = (...chunks: readonly (readonly number[])[]) =>
    new Response(
      new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (controller) => {
          for (const chunk of chunks) controller.enqueue(Uint8Array.from(chunk))
          controller.close()
        },
      }),
    )
  expect(await readLimited(bodyOf([1, 2], [3]), 3)).toEqual(Uint8Array.of(1, 2, 3))
  expect(await readLimited(bodyOf([1, 2], [3, 4]), 3)).toBeUndefined()
  expect(await readLimited({ body: null }, 3)).toEqual(new Uint8Array())
})
