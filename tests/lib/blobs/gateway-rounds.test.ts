import { describe, expect, it } from 'vitest'
import { createGatewayBlobs, type GatewayOptions } from '../../../lib/blobs/gateways.ts'
import { cidOf } from '../../../lib/cid.ts'
import { type Clock, monotonicMs } from '../../../lib/clock.ts'
import { maxBlobBytes } from '../../../lib/endpoints.ts'

const blob = new Uint8Array(1_000).map((_, index) => index % 251)
const cid = await cidOf(blob)

type Answer = (request: Request) => Response | Promise<Response>
const good: Answer = () => new Response(blob)
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  () =>
    new Response('no', { status: code, headers })
const noBody =
  (code: number): Answer =>
  () =>
    new Response(null, { status: code })
const hangsUp: Answer = () => Promise.reject(new TypeError('refused'))
const silent: Answer = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Downloads from gateways that answer one thing after the other, the last again and again. */
async function download(
  gateways: Record<string, readonly Answer[]>,
  options: Partial<GatewayOptions> = {},
  signal?: AbortSignal,
) {
  const asked: string[] = []
  const waits: number[] = []
  const clock: Clock = {
    now: () => 1_800_000_000_000,
    monotonic: () => monotonicMs(0),
    // Waits between rounds take no time; the limit of an attempt comes only where a test sets one.
    sleep: (ms) => {
      if (ms === 10_000) return new Promise(() => {})
      if (ms !== options.attemptMs) waits.push(ms)
      return Promise.resolve()
    },
  }
  const result = await createGatewayBlobs({
    gateways: Object.keys(gateways),
    clock,
    fetch: async (request) => {
      const { origin, pathname } = new URL(request.url)
      expect(pathname.replaceAll(/\/+/g, '/')).toMatch(/^(\/sub)?\/ipfs\/bafkrei[a-z2-7]{52}$/)
      asked.push(request.url)
      const [, answers] = Object.entries(gateways).find(([url]) => url.startsWith(origin))!
      const count = asked.filter((url) => url.startsWith(origin)).length
      return answers[Math.min(count, answers.length) - 1]!(request)
    },
    ...options,
  })
    .download(cid, signal)
    .catch((error: unknown) => error)
  return { result, asked, waits }
}

const [one, two] = ['https://one.test', 'https://two.test']

describe('a download through gateways', () => {
  it('asks them in turn, each by one address', async () => {
    const { result, asked, waits } = await download({ [one]: [status(404)], [two]: [good] })
    expect(result).toEqual(blob)
    expect(asked).toEqual([`${one}/ipfs/${cid}`, `${two}/ipfs/${cid}`])
    expect(waits).toEqual([])
    const slashes = await download({ [`${one}/sub//`]: [good] })
    expect(slashes.asked).toEqual([`${one}/sub/ipfs/${cid}`])
    const twice = await download(
      { [one]: [noBody(500)], [`${one}/`]: [noBody(500)] },
      { rounds: 1 },
    )
    expect(twice.asked).toHaveLength(1)
  })

  it('goes four rounds, with waits that double up to 8 s', async () => {
    const usual = await download({ [one]: [noBody(404)] })
    expect(usual.asked).toHaveLength(4)
    expect(usual.waits).toEqual([500, 1_000, 2_000])
    const many = await download({ [one]: [hangsUp] }, { rounds: 7, firstBackoffMs: 300 })
    expect(many.waits).toEqual([300, 600, 1_200, 2_400, 4_800, 8_000])
    const late = await download({ [one]: [status(500), status(404), good] })
    expect(late.result).toEqual(blob)
    expect(late.waits).toEqual([500, 1_000])
  })

  it('waits as long as a gateway asks for, 8 s at once and a minute in all, and loses no round by it', async () => {
    const limitedBy = (after: string) => status(429, { 'retry-after': after })
    const limited = (after: string) => download({ [one]: [limitedBy(after)] }, { rounds: 2 })
    expect((await limited('3')).waits).toEqual(Array(21).fill(3_000))
    expect((await limited('100')).waits).toEqual(Array(9).fill(8_000))
    expect((await limited('0')).waits).toEqual([500])
    const answers = [...Array(30).fill(limitedBy('1')), status(404), good]
    const late = await download({ [one]: answers, [two]: [status(404)] }, { rounds: 2 })
    expect(late.result).toEqual(blob)
    expect(late.waits).toEqual([...Array(30).fill(1_000), 500])
  })

  it('asks no more of a gateway that sends what cannot be right', async () => {
    const other: Answer = () => new Response('tampered')
    const large: Answer = () => new Response(new Uint8Array(maxBlobBytes + 1))
    const alone = await download({ [one]: [other] })
    expect([alone.asked.length, alone.waits]).toEqual([1, []])
    const both = await download({ [one]: [large], [two]: [status(404)] }, { rounds: 2 })
    expect(both.asked.map((url) => new URL(url).origin)).toEqual([one, two, two])
    expect(both.result).toMatchObject({
      ...{ code: 'blob-unavailable', retryable: true },
      message: `${cid}: ${one} sent more than ${maxBlobBytes} bytes, ${two} answered 404`,
      hint: expect.stringContaining('Check the IPFS gateways'),
    })
  })

  it('says of each gateway why it gave nothing', async () => {
    const late = await download({ [one]: [silent] }, { rounds: 1, attemptMs: 77 })
    expect((late.result as Error).message).toBe(`${cid}: ${one} gave no whole answer within 77 ms`)
    const { result } = await download({ [one]: [status(500)], [two]: [hangsUp] }, { rounds: 1 })
    expect((result as Error).message).toBe(`${cid}: ${one} answered 500, ${two} cannot be reached`)
    const tampered = await download({ [one]: [() => new Response('x')] })
    expect((tampered.result as Error).message).toContain('sent bytes that do not hash to the CID')
    expect((await download({})).result).toMatchObject({ code: 'blob-unavailable' })
  })

  it('takes the largest blob', async () => {
    const largest = new Uint8Array(maxBlobBytes)
    const found = await createGatewayBlobs({
      ...{ gateways: [one], fetch: async () => new Response(largest) },
      clock: { now: () => 0, monotonic: () => monotonicMs(0), sleep: () => new Promise(() => {}) },
    }).download(await cidOf(largest))
    expect(found).toHaveLength(maxBlobBytes)
  })

  it('lets go of the body of a refusal, and of a request that takes too long', async () => {
    let isCancelled = false
    const refusing: Answer = () =>
      new Response(
        new ReadableStream({
          cancel: () => {
            isCancelled = true
          },
        }),
        { status: 500 },
      )
    await download({ [one]: [refusing] }, { rounds: 1 })
    expect(isCancelled).toBe(true)
    let signal: AbortSignal | undefined
    const watched: Answer = (request) => {
      signal = request.signal
      return silent(request)
    }
    await download({ [one]: [watched] }, { rounds: 1, attemptMs: 77 })
    expect(signal?.aborted).toBe(true)
  })

  it('ends when its caller gives up', async () => {
    const caller = new AbortController()
    const reason = new Error('enough')
    const gone: Answer = async () => {
      caller.abort(reason)
      throw new TypeError('aborted')
    }
    const { result, asked } = await download({ [one]: [gone], [two]: [good] }, {}, caller.signal)
    expect(result).toBe(reason)
    expect(asked).toHaveLength(1)
  })
})
