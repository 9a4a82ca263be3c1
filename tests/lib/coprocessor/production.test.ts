import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EncryptNews } from '../../../lib/coprocessor/coprocessor.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { coprocessorAt, doubleProver, sealedValue, startDouble } from './coprocessor-double.ts'
import { hurriedClock } from './hurried-clock.ts'

let double: Awaited<ReturnType<typeof startDouble>>
beforeEach(async () => {
  double = await startDouble()
})
afterEach(() => double.close())

describe('an encryption on a chain other than 31337', () => {
  it('is proved by the prover and verified by the network', async () => {
    const prover = doubleProver()
    const news: EncryptNews[] = []
    const { high, low } = await coprocessorAt(double.url, { prover }).encrypt(5n, 6n, {
      onStep: (item) => news.push(item),
    })
    expect([high.ctHash, low.ctHash]).toEqual([0x10n, 0x20n])
    expect(high.signature).toBe(`0x${'11'.repeat(64)}1c`)
    expect(prover.asked).toHaveLength(1)
    expect(prover.asked[0]).toMatchObject({
      publicKeyHex: `0x${'aa'.repeat(10_000)}`,
      crsHex: `0x${'cc'.repeat(10_000)}`,
      values: [5n, 6n],
    })
    expect(prover.asked[0]?.metadata).toHaveLength(53)
    expect(JSON.parse(double.seen.at(-1)?.body ?? '')).toMatchObject({ packed_list: '010203' })
    expect(news.map(({ step, phase }) => `${step} ${phase}`)).toEqual(
      ['prepare', 'prove', 'verify'].flatMap((step) => [`${step} start`, `${step} end`]),
    )
    expect(news.flatMap(({ proofBytes }) => proofBytes ?? [])).toEqual([3])
  })

  it('fetches the keys once, also for several at the same time', async () => {
    const coprocessor = coprocessorAt(double.url)
    await Promise.all([1n, 2n, 3n].map((value) => coprocessor.encrypt(value, value)))
    await coprocessor.encrypt(4n, 4n)
    expect([double.count('/GetCrs'), double.count('/GetNetworkPublicKey')]).toEqual([1, 1])
    expect(double.count('/verify')).toBe(4)
  })

  it('fetches them again when the network has others, and succeeds', async () => {
    const coprocessor = coprocessorAt(double.url, { clock: hurriedClock() })
    await coprocessor.encrypt(1n, 2n)
    const { verify } = double.answers
    double.answers.crs = () => ({ status: 200, body: { crs: `0x${'dd'.repeat(10_000)}` } })
    let refusals = 0
    double.answers.verify = (body) =>
      refusals++ === 0 ? { status: 400, body: 'InvalidZkProof' } : verify(body)
    await coprocessor.encrypt(3n, 4n)
    expect(double.count('/GetCrs')).toBe(2)
    expect(double.count('/verify')).toBe(3)
  })

  it('is not tried again when the proof is refused although the keys are right', async () => {
    const clock = hurriedClock()
    double.answers.verify = () => ({
      status: 400,
      body: { error: 'refused', error_message: 'the proof is invalid' },
    })
    await expect(coprocessorAt(double.url, { clock }).encrypt(1n, 2n)).rejects.toMatchObject({
      code: 'coprocessor-encrypt-failed',
      message: expect.stringContaining('the proof was refused'),
      retryable: false,
    })
    expect(double.count('/verify')).toBe(1)
    expect(clock.waits).toEqual([])
  })

  it('is tried three times, 2 s and 4 s apart, when the verifier fails or says nonsense', async () => {
    for (const answer of [
      { status: 500, body: 'oh' },
      { status: 200, body: '<html>' },
      { status: 200, body: { status: 'success', data: null } },
    ]) {
      const clock = hurriedClock()
      double.answers.verify = () => answer
      await expect(coprocessorAt(double.url, { clock }).encrypt(1n, 2n)).rejects.toMatchObject({
        code: 'coprocessor-encrypt-failed',
        retryable: true,
      })
      expect(clock.waits).toEqual([2000, 4000])
    }
  })

  it('tells of too many requests as such', async () => {
    const code = 'coprocessor-too-many-requests'
    double.answers.verify = () => ({ status: 429, body: { error: 'too_many_requests' } })
    const clock = hurriedClock()
    await expect(coprocessorAt(double.url, { clock }).encrypt(1n, 2n)).rejects.toMatchObject({
      code,
    })
    // It is not asked for its keys again at that.
    expect([double.count('/verify'), double.count('/GetCrs')]).toEqual([3, 1])
    double.answers.crs = () => ({ status: 429, body: '' })
    await expect(coprocessorAt(double.url, { clock }).encrypt(1n, 2n)).rejects.toMatchObject({
      code,
    })
  })

  it('tells a failed proof as an error, and never sends an empty one', async () => {
    const why = new SvcError('coprocessor-encrypt-failed', 'CoFHE encrypt failed: no', { hint: '' })
    const prover = doubleProver(() => Promise.reject(why))
    const clock = hurriedClock()
    const work = coprocessorAt(double.url, { prover, clock }).encrypt(1n, 2n)
    await expect(work).rejects.toBe(why)
    expect(prover.asked).toHaveLength(1)
    expect(double.count('/verify')).toBe(0)

    const unproved = coprocessorAt(double.url, { prover: undefined, clock }).encrypt(1n, 2n)
    await expect(unproved).rejects.toMatchObject({ code: 'coprocessor-encrypt-failed' })
    expect(double.count('/verify')).toBe(0)
    expect(clock.waits).toEqual([])
  })

  it('ends the proof when the caller aborts', async () => {
    const stop = new AbortController()
    const why = new Error('enough')
    let aborted = false
    const prover = doubleProver((_, signal) => {
      signal.addEventListener('abort', () => {
        aborted = true
      })
      stop.abort(why)
      return new Promise(() => {})
    })
    const work = coprocessorAt(double.url, { prover }).encrypt(1n, 2n, { signal: stop.signal })
    await expect(work).rejects.toBe(why)
    expect(aborted).toBe(true)
  })

  it('takes no keys that are too long or none', async () => {
    const bodies = [
      { crs: `0x${'cc'.repeat(17 << 20)}` },
      { crs: 'zz' },
      { crs: 5 },
      '<html>',
      { publicKey: `0x${'cc'.repeat(1_000)}` },
    ]
    for (const body of bodies) {
      double.answers.crs = () => ({ status: 200, body })
      const prover = doubleProver()
      const work = coprocessorAt(double.url, { prover, clock: hurriedClock() }).encrypt(1n, 2n)
      await expect(work).rejects.toMatchObject({
        code: 'coprocessor-unavailable',
        message: expect.stringMatching(/no keys of the coprocessor: \/GetCrs .*(bytes|no key)/),
      })
      expect(prover.asked).toEqual([])
    }
  })

  it('waits for neither key any more when the other does not come', async () => {
    let crs: AbortSignal | undefined
    const fetch = async (request: Request) => {
      if (request.url.endsWith('/GetNetworkPublicKey')) return new Response('', { status: 500 })
      crs = request.signal
      return await new Promise<Response>(() => {})
    }
    const coprocessor = coprocessorAt(double.url, { fetch })
    await expect(coprocessor.fetchKeys()).rejects.toMatchObject({ code: 'coprocessor-unavailable' })
    expect(crs?.aborted).toBe(true)
  })

  it('needs no keys that were fetched before', async () => {
    const coprocessor = coprocessorAt(double.url)
    await coprocessor.fetchKeys()
    await coprocessor.encrypt(1n, 2n)
    expect(double.count('/GetCrs')).toBe(1)
  })

  it('is given up when the keys do not come', async () => {
    double.answers.crs = () => undefined
    const work = coprocessorAt(double.url, { encryptTimeoutMs: 300 }).encrypt(1n, 2n)
    await expect(work).rejects.toMatchObject({
      code: 'coprocessor-unavailable',
      message: 'CoFHE encrypt failed: no answer within 0.3 s',
    })
  })
})

describe('a decryption on a chain other than 31337', () => {
  it('opens what was sealed for its permit, and makes one permit for all', async () => {
    const coprocessor = coprocessorAt(double.url)
    await coprocessor.makePermit()
    const calls = double.count('/rpc')
    expect(await Promise.all([1n, 2n, 3n].map((handle) => coprocessor.decrypt(handle)))).toEqual([
      sealedValue,
      sealedValue,
      sealedValue,
    ])
    expect(double.count('/rpc')).toBe(calls)
  })

  it('waits for an answer that is not ready, and takes it in either form', async () => {
    const { seal } = double.answers
    let sealed: Record<string, unknown> = {}
    double.answers.seal = (body) => {
      if (double.count('/v2/sealoutput') === 1) return { status: 204, body: '' }
      const { data, public_key, nonce } = Object(Object(seal(body)?.body).sealed)
      sealed = { sealed_data: data, ephemeral_public_key: public_key, nonce }
      return { status: 200, body: { request_id: 'later' } }
    }
    double.answers.poll = () => {
      const isReady = double.count('/v2/sealoutput/later') === 2
      return { status: 200, body: isReady ? { ...sealed, status: 'COMPLETED' } : { status: 'IN' } }
    }
    expect(await coprocessorAt(double.url).decrypt(1n)).toBe(sealedValue)
    expect(double.count('/v2/sealoutput/later')).toBe(2)
  })

  const cases = [
    [
      403,
      { error_message: 'ACL denied: NotAllowed' },
      'coprocessor-access-denied',
      'FHE decrypt denied (403)',
    ],
    [
      404,
      { error_message: 'no such ciphertext' },
      'coprocessor-ciphertext-unknown',
      'unknown ciphertext (404)',
    ],
    [429, { error_message: 'slow down' }, 'coprocessor-too-many-requests', 'too many requests'],
    [500, '<html>', 'coprocessor-unavailable', 'the threshold network returns status 500'],
    [200, '<html>', 'coprocessor-unavailable', 'the threshold network sends another form'],
    [
      200,
      { request_id: 'x', sealed: { data: [1], public_key: [2], nonce: [3] } },
      'coprocessor-unavailable',
      '',
    ],
  ] as const
  for (const [status, body, code, words] of cases) {
    it(`that is answered with ${status} ${JSON.stringify(body)} fails at once as ${code}`, async () => {
      double.answers.seal = () => ({ status, body })
      await expect(coprocessorAt(double.url).decrypt(1n)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(`CoFHE decrypt failed: ${words}`),
      })
      expect(double.count('/v2/sealoutput')).toBe(1)
    })
  }

  it('that is not answered is given up', async () => {
    double.answers.seal = () => undefined
    const work = coprocessorAt(double.url, { decryptTimeoutMs: 300 }).decrypt(1n)
    await expect(work).rejects.toMatchObject({ code: 'coprocessor-unavailable' })
  })

  it('says what a service said in one short line', async () => {
    double.answers.seal = () => ({
      status: 500,
      body: { message: `a\n[INFO] b\u001b[31m${'x'.repeat(9_999)}` },
    })
    const error = await coprocessorAt(double.url)
      .decrypt(1n)
      .catch((caught: unknown) => caught)
    expect((error as Error).message).toMatch(/^[\x20-\x7e]{1,340}$/)
  })
})
