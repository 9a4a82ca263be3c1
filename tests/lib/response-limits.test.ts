import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isRawAnswer, rawBytes } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { Problem } from '../../lib/problem.ts'
import { JobEvent } from '../../lib/schemas/jobs.ts'
import { Network } from '../../lib/schemas/network.ts'
import { ReputationStatement } from '../../lib/schemas/nodes.ts'

type Part = { readonly [name: string]: unknown }

const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null

/** Where in a JSON schema a text or a list may be of any length. */
function unlimitedIn(part: unknown, path: string): readonly string[] {
  if (!isPart(part)) return []
  const { type, maxItems, maxLength, pattern, const: only, enum: some } = part
  const isOpen =
    (type === 'array' && maxItems === undefined && !Array.isArray(part.prefixItems)) ||
    (type === 'string' && [maxLength, pattern, only, some].every((limit) => limit === undefined))
  const inside = Object.entries(part).flatMap(([name, value]) =>
    unlimitedIn(value, `${path}/${name}`),
  )
  return isOpen ? [path, ...inside] : inside
}

// An ICL's own pages and its operator's probes read them: no node and no client does.
const ofOperator = /Console|Readiness/

const answers = Object.entries(endpoints).flatMap(([name, { response }]) =>
  response === rawBytes || isRawAnswer(response) || ofOperator.test(name)
    ? []
    : [[name, response as z.ZodType] as const],
)

describe('what an ICL says', () => {
  for (const [name, schema] of [
    ...answers,
    ['a problem', Problem],
    ['an event', JobEvent],
  ] as const) {
    it(`has a limit for each text and each list: ${name}`, () => {
      const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
      expect(unlimitedIn(json, '')).toEqual([])
    })
  }

  it('lets a client wait for its turn only where it may have one', () => {
    const { limits } = Network.shape
    expect(limits.shape.jobs_at_once.safeParse(0).success).toBe(false)
    expect(limits.shape.job_seconds.safeParse(3_601).success).toBe(false)
  })

  it('has no half of a surrogate pair where it is signed', () => {
    const { id, code } = ReputationStatement.shape
    for (const part of [id, code]) {
      expect(part.safeParse('a').success).toBe(true)
      expect(part.safeParse('a\ud800').success).toBe(false)
    }
  })
})
