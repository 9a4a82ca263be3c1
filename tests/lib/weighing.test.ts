import { describe, expect, it } from 'vitest'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { NumbersStatement } from '../../lib/schemas/statements.ts'
import type { TeacherScore } from '../../lib/schemas/teacher.ts'
import {
  isIdleWeigher,
  oddNodes,
  weighedAt,
  weightOfAnswer,
  wrongNumbers,
} from '../../lib/weighing.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'
import { scoreWith } from '../icl/rules/sample-job.ts'

const node = (at: number): Address => anAddress(`0x${String(at + 1).repeat(40)}`)
const answerOf = (at: number): Hash32 => aHash(`0x${String(at + 1).repeat(64)}`)

/** Numbers of all nodes of a job with so many answers: `scored` gives those of the node `by` of the answer of `of`. */
const numbersOf = (
  answers: number,
  scored: (by: number, of: number, answer: Hash32) => TeacherScore | undefined,
): readonly NumbersStatement[] => {
  const all = Array.from({ length: answers }, (_, at) => at)
  return all.map((by) => ({
    statement: 'svc-numbers-v1',
    ...{ jobId: aJobId(`0x${'1'.repeat(64)}`), address: node(by), fence: by + 1, salt: '' },
    weighed: weighedAt(all, by).map((of) => {
      const score = scored(by, of, answerOf(of))
      return { answer: answerOf(of), ...(score && { score }) }
    }),
  }))
}

describe('each answer', () => {
  it('is weighed by two other nodes, and each node weighs two', () => {
    for (const count of [3, 4, 5, 7]) {
      const all = Array.from({ length: count }, (_, at) => at)
      const pairs = all.flatMap((by) => weighedAt(all, by).map((of) => [by, of] as const))
      expect(pairs.every(([by, of]) => by !== of)).toBe(true)
      for (const one of all) {
        expect(pairs.filter(([by]) => by === one)).toHaveLength(2)
        expect(pairs.filter(([, of]) => of === one)).toHaveLength(2)
      }
    }
  })

  it('has a weight only where two nodes near each other find the same', () => {
    const weightBy = (first: [number, number?], second: [number, number?]) =>
      weightOfAnswer(
        answerOf(0),
        numbersOf(3, (by, of, answer) =>
          of === 0
            ? scoreWith(answer, (by === 1 ? first : second)[0], 40, (by === 1 ? first : second)[1])
            : undefined,
        ),
      )
    expect(weightBy([5], [5])).toBe('likely')
    expect(weightBy([400], [400])).toBe('unlikely')
    expect(weightBy([5], [400])).toBeUndefined()
    expect(weightBy([5], [5, 900])).toBeUndefined()
    const [first] = numbersOf(3, (_, __, answer) => scoreWith(answer, 5)).slice(1)
    expect(weightOfAnswer(answerOf(0), [first!])).toBeUndefined()
  })
})

describe('another text', () => {
  const weightBy = (scored: Parameters<typeof numbersOf>[1]) =>
    weightOfAnswer(answerOf(0), numbersOf(3, scored))
  const ofOthers = (_: number, of: number, answer: Hash32) =>
    of === 0 ? undefined : scoreWith(answer, 5)

  it('is found by two nodes that scored other answers', () => {
    expect(weightBy(ofOthers)).toBe('other-text')
    expect(weightBy((by, of, answer) => (by === 0 ? undefined : ofOthers(by, of, answer)))).toBe(
      'other-text',
    )
  })

  it('is not believed of nodes that score nothing, or whose scores another node contradicts', () => {
    expect(weightBy(() => undefined)).toBe('unclear')
    const invented = (by: number, of: number, answer: Hash32) =>
      of === 0 ? undefined : scoreWith(answer, 5, 40, by === 0 ? 0 : 900)
    expect(weightBy(invented)).toBe('unclear')
  })

  it('is found where its own node contradicts the others, if two of these bear each other out', () => {
    const liar = (by: number, of: number, answer: Hash32) =>
      of === 0 ? undefined : scoreWith(answer, 5, 40, by === 0 ? 900 : 0)
    for (const count of [4, 5, 7]) {
      const numbers = numbersOf(count, liar)
      expect(weightOfAnswer(answerOf(0), numbers)).toBe('other-text')
      const honest = numbers.slice(1).map(({ address }) => isIdleWeigher(address, numbers))
      expect(honest).not.toContain(true)
    }
  })
})

describe('a node leaves the weighing to others', () => {
  const idleBy = (answers: number, scored: Parameters<typeof numbersOf>[1]) => {
    const numbers = numbersOf(answers, scored)
    return numbers.map(({ address }) => isIdleWeigher(address, numbers))
  }

  it('that scores nothing, that others contradict, or that splits the text otherwise', () => {
    for (const lazy of [
      () => undefined,
      (answer: Hash32) => scoreWith(answer, 5, 40, 900),
      (answer: Hash32) => scoreWith(answer, 5, 30),
    ]) {
      const idle = idleBy(3, (by, _, answer) => (by === 1 ? lazy(answer) : scoreWith(answer, 5)))
      expect(idle).toEqual([false, true, false])
    }
  })

  it('not where no two scores bear each other out, or its neighbours are silent', () => {
    expect(idleBy(3, (by, _, answer) => (by === 1 ? scoreWith(answer, 5) : undefined))).toEqual([
      ...[false, false, false],
    ])
    const silent = (by: number, _: number, answer: Hash32) =>
      by === 0 || by === 2 ? undefined : scoreWith(answer, 5)
    expect(idleBy(7, silent)[3]).toBe(false)
  })
})

describe('numbers', () => {
  it('are refused of answers that the node does not weigh, twice, or impossible', () => {
    const [, , third] = numbersOf(3, (_, __, answer) => scoreWith(answer, 5))
    const weighed = third!.weighed
    const answers = [answerOf(1), answerOf(0)]
    expect(wrongNumbers({ weighed }, answers, 40)).toBeUndefined()
    expect(wrongNumbers({ weighed }, [answerOf(1)], 40)).toMatch(/does not weigh/)
    expect(wrongNumbers({ weighed: [weighed[0]!, weighed[0]!] }, answers, 40)).toMatch(/twice/)
    expect(wrongNumbers({ weighed }, answers, 39)).toMatch(/more tokens/)
  })

  it('of one node that are apart from all others are odd, in jobs of any size', () => {
    for (const count of [3, 4, 5, 7]) {
      for (const odd of [0, 1, count - 1]) {
        const numbers = numbersOf(count, (by, _, answer) =>
          scoreWith(answer, 5, 40, by === odd ? 900 : 0),
        )
        expect(oddNodes(numbers)).toEqual([node(odd)])
      }
    }
  })

  it('of nodes that all differ, or of two nodes, show no odd one', () => {
    expect(oddNodes(numbersOf(3, (by, _, answer) => scoreWith(answer, 5, 40, by * 900)))).toEqual(
      [],
    )
    const two = numbersOf(3, (by, _, answer) => scoreWith(answer, 5, 40, by * 900)).slice(1)
    expect(oddNodes(two)).toEqual([])
  })
})
