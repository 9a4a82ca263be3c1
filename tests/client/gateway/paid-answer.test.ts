import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { passing, worldWhere } from '../../lib/client/late-world.ts'
import { fakeGateway, question } from './fake-client.ts'

const model = 'openai:gpt-4o-mini'
const minutes = (count: number) => count * 60_000

/** A gateway whose ICL accepts a job and then keeps the receipt back while `fails` gives an error. */
async function gatewayWhere(
  fails: (elapsedMs: number) => Error | undefined,
  more: Parameters<typeof fakeGateway>[1] = {},
) {
  const { context, tries } = await worldWhere('receipt', fails)
  const { clock } = context
  const gateway = fakeGateway((prompt, options) => infer(context, prompt, options), {
    clock,
    ...more,
    client: { models: async () => [{ model_id: model, nodes: 4 }] },
  })
  return { ...gateway, tries }
}

const away = passing('icl-unreachable')
const wanted = question({ model })

describe('an answer that is paid for', () => {
  it('is fetched while its caller waits, also after minutes in which the ICL was away', async () => {
    const gateway = await gatewayWhere((elapsedMs) => (elapsedMs < minutes(20) ? away : undefined))
    const response = await gateway.post(wanted)
    const { choices } = await response.json()
    expect(choices[0].message.content).toBe('answer to Who?')
  })

  it('is fetched as long for a stream that has begun, which tells why it waits', async () => {
    const isAway = (elapsedMs: number) => (elapsedMs < minutes(20) ? away : undefined)
    const gateway = await gatewayWhere(isAway, { keepAliveMs: minutes(1) })
    const text = await (await gateway.post({ ...wanted, stream: true })).text()
    expect(text).toContain('tried again: icl-unreachable')
    expect(text).toContain('"content":"answer to Who?"')
    expect(text).toMatch(/data: \[DONE\]\n\n$/)
  })

  it('is given up after half an hour, and the caller told that it was paid for', async () => {
    const gateway = await gatewayWhere(() => away)
    const response = await gateway.post(wanted)
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false'])
    const { error } = await response.json()
    expect(error.code).toBe('icl_unreachable')
    expect(error.message).toContain('Another request pays again')
    expect(error.message).toMatch(/--open 0x[0-9a-f]{64}`/)
    expect(gateway.tries.at(-1)).toBeGreaterThan(minutes(29))
    expect(gateway.tries.at(-1)).toBeLessThan(minutes(31))
  })

  it('is fetched no longer once its caller has left', async () => {
    const leave = new AbortController()
    const gateway = await gatewayWhere(() => {
      leave.abort(new Error('left'))
      return away
    })
    await gateway.post(wanted, { signal: leave.signal })
    expect(gateway.tries).toHaveLength(1)
  })
})
