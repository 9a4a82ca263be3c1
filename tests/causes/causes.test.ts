import { describe, expect, it } from 'vitest'
import { causes, isCause, remedyFor, whatOf } from '../../lib/causes.ts'
import { modelId } from '../node/fakes.ts'
import { callFaults } from './call-faults.ts'
import { nodeFaults } from './node-faults.ts'
import { observeAll } from './observe.ts'
import { providerFaults } from './provider-faults.ts'

const observed = new Map((await observeAll()).map((one) => [one.fault, one]))

const of = (fault: string) => observed.get(fault)!
const hintOf = (code: keyof typeof causes) =>
  remedyFor('node operator', code, modelId, 'OPENAI_API_KEY')

describe('a fault that is put in', () => {
  it('is one of more than thirty, each of its own name', () => {
    const all = [...providerFaults, ...nodeFaults, ...callFaults]
    expect(all.length).toBeGreaterThan(30)
    expect(observed.size).toBe(all.length)
  })

  it.each(providerFaults)('at the provider, $fault: $code, the line of the log', (row) => {
    const { code, node } = of(row.fault)
    expect([code, node]).toEqual([
      row.code,
      `ERROR Job ID: aborted: provider openai at URL ${row.said}. ${hintOf(row.code)}`,
    ])
  })

  it.each(nodeFaults)('at the node, $fault: $code, the line of the log', (row) => {
    const { code, node } = of(row.fault)
    expect(code).toBe(row.code)
    expect(node).toMatch(/^ERROR Job ID: aborted: /)
    expect(node).toMatch(row.said)
  })

  it.each([...providerFaults, ...nodeFaults])('$fault: the client and the console', (row) => {
    const { client, console } = of(row.fault)
    const { code } = row
    const what = whatOf(code, modelId)
    expect(console.toLowerCase()).toBe(
      `${what}. ${remedyFor(undefined, code, modelId)}`.toLowerCase(),
    )
    if (causes[code].who === 'nobody')
      expect(client).toMatch(/^No node is left .*\[Service operator/)
    else {
      const { who, passes } = causes[code]
      const own =
        passes && who === 'node operator' ? 'Run the job again: it draws nodes anew. ' : ''
      const remedy = remedyFor('client', code, modelId)
      expect(client).toBe(`No node could do the job: ${what} [${own}${remedy}]`)
    }
  })

  it.each(callFaults)('in a call, $fault: $code, what client and node read', (row) => {
    const { code, client, node } = of(row.fault)
    // Who reads the chain by an RPC of its own is the one to act.
    const reader = 'rpc' in row ? causes[row.code].who : 'client'
    expect([code, client]).toEqual([row.code, `${row.said} [${remedyFor(reader, row.code)}]`])
    expect(node).toContain(row.said)
    expect(node).toContain(causes[row.code].remedy.slice(1))
  })

  it('has two causes read alike for nobody', () => {
    const lines = new Map<string, Set<string>>()
    for (const { code, client, console } of observed.values()) {
      if (code === undefined || !isCause(code) || causes[code].who === 'nobody' || console === '')
        continue
      for (const line of [client, console]) {
        lines.set(line, (lines.get(line) ?? new Set()).add(code))
      }
    }
    expect([...lines.values()].filter(({ size }) => size > 1)).toEqual([])
  })
})
