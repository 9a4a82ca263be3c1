import { describe, expect, it } from 'vitest'
import { nearestName } from '../../../lib/host/nearest.ts'
import { commands } from '../../../node/command-table.ts'
import { type FlagSpec, readArguments, readFlags } from '../../../node/commands/flags.ts'

const specs: readonly FlagSpec[] = [
  ['--stake <ether>', 'a value'],
  ['--icl-endpoint <url>', 'a value'],
  ['--force', 'a switch'],
  ['--rpc <url>...', 'a value, more than once'],
]
const read = (parsed: Record<string, unknown>, raw: readonly string[] = []) =>
  readFlags(parsed, raw, specs, 'init')

describe('flags', () => {
  it('keep every digit that was typed, however it was written', () => {
    const exact = '1.000000000000000001'
    expect(read({ stake: 1 }, ['--stake', exact])).toEqual({ stake: exact })
    expect(read({ stake: 1 }, [`--stake=${exact}`])).toEqual({ stake: exact })
    expect(readArguments([7, 'x'], ['receipt', '007', 'x'])).toEqual(['007', 'x'])
  })

  it('are texts and switches', () => {
    const parsed = { '--': [], force: true, iclEndpoint: 'http://a' }
    expect(read(parsed, ['--force', '--icl-endpoint', 'http://a'])).toEqual({
      force: true,
      iclEndpoint: 'http://a',
    })
  })

  it('are lists when they may be repeated', () => {
    expect(read({ rpc: 'http://a' })).toEqual({ rpc: ['http://a'] })
    expect(read({ rpc: ['http://a', 'http://b'] })).toEqual({ rpc: ['http://a', 'http://b'] })
  })

  it('are refused when unknown, repeated, empty, or after --', () => {
    const usage = (parsed: Record<string, unknown>) => {
      try {
        read(parsed)
      } catch (error) {
        return error as { code: string; message: string; hint: string }
      }
      return undefined
    }
    expect(usage({ iclEndpont: 'x' })).toMatchObject({
      code: 'usage',
      message: '`svc-node init` has no flag --icl-endpont',
      hint: expect.stringContaining('did you mean --icl-endpoint?'),
    })
    expect(usage({ x: true })?.message).toContain('-x')
    expect(usage({ stake: [1, 2] })?.message).toContain('more than once')
    expect(usage({ stake: true })?.message).toContain('needs a value')
    expect(usage({ rpc: ['http://a', true] })?.message).toContain('needs a value')
    expect(usage({ '--': ['more'] })?.code).toBe('usage')
  })
})

describe('the nearest name', () => {
  const names = commands.map(({ name }) => name)
  for (const [typed, meant] of [
    ['stauts', 'status'],
    ['doc', 'doctor'],
    ['unregistr', 'unregister'],
    ['Init', 'init'],
    ['dance', undefined],
    ['', 'init'],
  ] as const) {
    it(`of \`${typed}\` is ${meant}`, () => expect(nearestName(typed, names)).toBe(meant))
  }
})
