import { newcomer } from '../../lib/reputation.ts'
import {
  colluder,
  copier,
  type Diary,
  denier,
  equivocator,
  lazy,
  neverDelivers,
  newDiary,
  revealsAnother,
} from './conducts.ts'
import { type Cheat, type Outcome, runScenario } from './run-scenario.ts'

/** A way to cheat. */
export type Scenario = {
  readonly name: string
  /** How many of its kind there are. */
  readonly count: number
  prepare(diary: Diary): Omit<Cheat, 'name'>
}

/** Every way to cheat that is tried. */
export const scenarios = {
  lazy: { name: 'lazy node', count: 3, prepare: () => ({ conduct: lazy }) },
  copying: { name: 'copying node', count: 3, prepare: (diary) => ({ conduct: copier(diary) }) },
  pair: { name: 'colluding pair', count: 2, prepare: () => ({ conduct: colluder }) },
  ring: { name: 'colluding ring of 6', count: 6, prepare: () => ({ conduct: colluder }) },
  withholding: {
    name: 'deliverer without an output',
    count: 3,
    prepare: () => ({ conduct: {}, output: 'output-unavailable' }),
  },
  another: {
    name: 'deliverer of another text',
    count: 3,
    prepare: () => ({ conduct: {}, output: 'output-mismatch' }),
  },
  refusing: {
    name: 'deliverer that is silent',
    count: 3,
    prepare: () => ({ conduct: neverDelivers }),
  },
  denying: { name: 'false verdicts', count: 3, prepare: () => ({ conduct: denier }) },
  equivocating: {
    name: 'equivocating node',
    count: 3,
    prepare: (diary) => ({ conduct: equivocator(diary) }),
  },
  revealing: {
    name: 'node reveals another',
    count: 3,
    prepare: (diary) => ({ conduct: revealsAnother(diary) }),
  },
} as const satisfies Record<string, Scenario>

const honestNodes = 30

/** How long to play: for so many jobs, or until every cheat, or any, is seen. */
export type Length = { readonly jobs: number; readonly until?: 'any is seen' }

/** Plays a way to cheat among 30 honest nodes. */
export async function playScenario(
  scenario: Scenario,
  seed: number,
  { jobs, until }: Length,
): Promise<{ readonly outcome: Outcome; readonly diary: Diary }> {
  const diary = newDiary()
  const cheat = scenario.prepare(diary)
  const outcome = await runScenario({
    seed,
    jobs,
    honestNodes,
    cheats: Array.from({ length: scenario.count }, (_, index) => ({
      ...cheat,
      name: `cheat ${index}`,
    })),
    isEnough: until && ((cheats) => cheats.some(({ score }) => score < newcomer.score)),
  })
  return { outcome, diary }
}
