import { describe, expect, it } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'
import { whyNoWireServer } from '../store/wire-server/open.ts'
import { jobOperations, linesOf, runReplicas } from './replicas.ts'

const jobs = 6
const missing = (['node', 'deno'] as const).find((name) => programOf(name) === undefined)
if (missing && process.env.CI === 'true') throw new Error(`${missing} is not installed`)
const whyNot = (await whyNoWireServer()) ?? (missing && `${missing} is not installed`)

describe('replicas on Bun, Node and Deno over one MongoDB', () => {
  if (whyNot) {
    it.skip(whyNot, () => {})
    return
  }

  it('serve each job together, every step on another one', async () => {
    const { accepted, operations } = await runReplicas(jobs)
    process.stdout.write(`${linesOf(operations).join('\n')}\n`)
    expect(accepted).toBe(jobs)
    const idle = jobOperations.filter((id) => {
      const counts = operations.get(id)
      return counts === undefined || Object.values(counts).some((count) => count === 0)
    })
    expect(idle).toEqual([])
  })
})
