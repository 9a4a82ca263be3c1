import { afterEach, describe, expect, it } from 'vitest'
import { ask, clientOf } from '../../demo/ask.ts'
import type { AnswerKind } from '../../demo/ngram-server.ts'
import { chooseProvider, ngramModel } from '../../demo/provider.ts'
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
    const delivered = receipt.delivery.body.answer
    const scores = (receipt.attested ?? []).flatMap(({ body }) =>
      body.weighed.flatMap(({ answer, score }) => (answer === delivered && score ? [score] : [])),
    )
    expect(scores).toHaveLength(2)
    for (const { gap, quarters } of scores) {
      const [first = 0, second = 0] = quarters
      expect(first + second).toBeLessThan(gap / 2)
    }
    await expect(verifyReceipt(receipt)).resolves.toBeUndefined()
    const { attested: _, ...without } = receipt
    await expect(verifyReceipt(without)).rejects.toThrow(/another record/)
    const client = await clientOf(world)
    expect((await client.record(jobId)).attested).toEqual(receipt.attested)
    const told = await toldBy(world, jobId)
    expect(told).toHaveLength(2)
    expect(told).toEqual(expect.arrayContaining([...attested]))
  })

  it('finds the node that makes its numbers up by its likeliest tokens, which are far from all others', async () => {
    const world = await start('lazy', 3)
    const inference = await ask(world, asked)
    if (inference.status !== 'accepted') throw new Error(`the job is ${inference.status}`)
    const { receipt, jobId } = inference
    const nodes = (receipt.attested ?? []).map(({ body }) => body)
    const gapsOf = ({ weighed }: (typeof nodes)[number]) =>
      weighed.map(({ score }) => score?.gap ?? -1)
    const lazy = nodes.filter((numbers) => gapsOf(numbers).every((gap) => gap === 0))
    expect([nodes.length, lazy.length]).toEqual([3, 1])
    await expect(verifyReceipt(receipt)).resolves.toBeUndefined()
    const { assignments } = await (await clientOf(world)).record(jobId)
    const odd = assignments.filter(({ scores }) => scores.includes('numbers-odd'))
    expect(odd.map(({ node }) => node)).toEqual(lazy.map(({ address }) => address))
  })
})
