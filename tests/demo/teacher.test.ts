import { afterEach, describe, expect, it } from 'vitest'
import { ask, clientOf } from '../../demo/ask.ts'
import type { AnswerKind } from '../../demo/ngram-server.ts'
import { chooseProvider, ngramModel } from '../../demo/options.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import { ConsoleJobDetail } from '../../lib/schemas/console.ts'
import type { Attested } from '../../lib/teacher.ts'
import { builtBinary } from '../binary/executable.ts'

let world: World | undefined

/** A world whose answers come from this. */
async function start(ngrams: AnswerKind, nodes: number): Promise<World> {
  const { envOf: providerEnv } = chooseProvider(ngramModel, {})
  world = await startWorld({
    ...{ models: [ngramModel], nodes, providerEnv, standIn: true, ngrams },
    nodeBinary: await builtBinary(),
  })
  return world
}
afterEach(() => world?.stop())

/** The numbers as the console tells them. */
async function toldBy({ icl }: World, job: string): Promise<readonly Attested[]> {
  const found = await fetch(`${icl.url}/v1/console/jobs/${job}`)
  const { assignments } = ConsoleJobDetail.parse(await found.json())
  return assignments.flatMap(({ node, attested }) =>
    node && attested ? [{ node, ...attested }] : [],
  )
}

const asked = { prompt: 'How is a node seated', model: ngramModel, check: 'teacher/1' } as const

describe('a job that asks how likely its answer is', () => {
  it('shows a spliced answer by its worst quarter, in receipt, record and console, and decides nothing by it', async () => {
    const world = await start('spliced', 3)
    const inference = await ask(world, asked)
    if (inference.status !== 'accepted') throw new Error(`the job is ${inference.status}`)
    const { receipt, attested = [], jobId } = inference
    expect(attested).toHaveLength(2)
    for (const { n, agree, gap, worst, apart } of attested) {
      expect(agree).toBeLessThan(n)
      expect(worst).toBeGreaterThan(Math.floor(gap / n))
      expect(apart).toBeLessThan(100)
    }
    for (const { score } of receipt.attested ?? []) {
      const [first = 0, second = 0] = score.quarters
      expect(first + second).toBeLessThan(score.gap / 2)
    }
    await expect(verifyReceipt(receipt)).resolves.toBeUndefined()
    const { attested: _, ...without } = receipt
    await expect(verifyReceipt(without)).rejects.toThrow(/another record/)
    const client = await clientOf(world)
    const { deliveries } = await client.record(jobId)
    expect(deliveries.at(-1)?.attested).toEqual(receipt.attested)
    const told = await toldBy(world, jobId)
    expect(told).toHaveLength(2)
    expect(told).toEqual(expect.arrayContaining([...attested]))
  })

  it('shows the checker that makes its numbers up by its likeliest tokens, which are far from all others', async () => {
    const world = await start('lazy', 4)
    const inference = await ask(world, { ...asked, verifierCount: 3 })
    if (inference.status !== 'accepted') throw new Error(`the job is ${inference.status}`)
    const { receipt, attested = [], jobId } = inference
    const [lazy, ...others] = attested.toSorted((a, b) => (b.apart ?? 0) - (a.apart ?? 0))
    expect(others).toHaveLength(2)
    expect(others.every(({ apart = 2_000 }) => apart < 100)).toBe(true)
    expect(lazy?.apart).toBeGreaterThan(500)
    expect(lazy).toMatchObject({ gap: 0, agree: others[0]?.n })
    await expect(verifyReceipt(receipt)).resolves.toBeUndefined()
    expect(await toldBy(world, jobId)).toContainEqual(lazy)
  })
})
