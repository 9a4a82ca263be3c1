import { feeding } from './attacks.ts'
import type { Attack, Check } from './play-attack.ts'
import type { Kind } from './told.ts'
import { colluding, type Way, weighers } from './weighers.ts'

/** A node with this model, which weighs as it should unless `way` says otherwise. */
const node = (name: string, kind: Kind, way: Way = weighers.honest): Attack => ({
  name: `weighed: ${name}`,
  nodes: 1,
  check: { isAsked: true, kind, way: () => way },
})

/** Nodes of one owner in a pool of 20, whose cheaper model gives one text. They weigh for one another. */
const ring = (nodes: number, isAsked: boolean, changes: Partial<Attack> = {}): Attack => ({
  name: `${isAsked ? 'weighed' : 'not asked'}: ring of ${nodes}`,
  nodes,
  honestNodes: 20 - nodes,
  check: { isAsked, kind: 'Q4_0', ring: 'a text of the ring', way: colluding },
  ...changes,
})

const unlike: Check = { isAsked: true, kind: 'model' }

/** Nodes and owners in jobs whose terms ask for the check, and in jobs whose terms do not. */
export const weighedAttacks: readonly Attack[] = [
  { name: 'not asked: unlike machines', nodes: 0, check: { ...unlike, isAsked: false } },
  { name: 'weighed: unlike machines', nodes: 0, check: unlike },
  ...(['Q4_0', 'Q5_0', 'Q8_0'] as const).map((kind) => node(kind, kind)),
  node('just likely enough', 'tuned'),
  node('likely filler', 'filler'),
  node('lazy checker', 'model', weighers.lazy),
  node('copying checker', 'model', weighers.copying),
  node('checker that denies', 'model', weighers.denying),
  node('checker that abstains', 'model', 'abstains'),
  node('silent checker', 'model', 'silent'),
  ...[2, 3].flatMap((nodes) => [ring(nodes, false), ring(nodes, true)]),
  ring(2, true, { name: 'weighed: feeding ring of 2', job: feeding(true), jobsPerDay: 3 }),
]
