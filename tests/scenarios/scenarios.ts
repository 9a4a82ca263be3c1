import { newcomer } from '../../lib/reputation.ts'
import { anAddress } from '../branded.ts'
import {
  colluder,
  copyingVerifier,
  type Diary,
  equivocatingLeader,
  lazyVerifier,
  newDiary,
  type Ring,
  revealsAnother,
} from './conducts.ts'
import { type Cheat, type Outcome, type Plan, runScenario } from './run-scenario.ts'

/** A way to cheat. */
export type Scenario = {
  readonly name: string
  /** How many of its kind there are. */
  readonly count: number
  prepare(diary: Diary): Pick<Plan, 'onJoined'> & { readonly cheat: Omit<Cheat, 'name'> }
}

const withConduct = (conduct: Cheat['conduct']) => ({ cheat: { conduct } })

const ringOf = (): Ring => ({ members: new Set(), leads: new Map() })

function colluding() {
  const ring = ringOf()
  return {
    ...withConduct(colluder(ring)),
    onJoined: (cheats: readonly { readonly address: `0x${string}` }[]) => {
      for (const { address } of cheats) ring.members.add(anAddress(address))
    },
  }
}

/** Every way to cheat that is tried. */
export const scenarios = {
  lazy: { name: 'lazy verifier', count: 3, prepare: () => withConduct(lazyVerifier) },
  copying: {
    name: 'copying verifier',
    count: 3,
    prepare: (diary) => withConduct(copyingVerifier(diary)),
  },
  pair: { name: 'colluding pair', count: 2, prepare: colluding },
  ring: { name: 'colluding ring of 6', count: 6, prepare: colluding },
  withholding: {
    name: 'withholding leader: no output',
    count: 3,
    prepare: () => ({ cheat: { conduct: {}, output: 'output-unavailable' } }),
  },
  unreadable: {
    name: 'withholding leader: unreadable',
    count: 3,
    prepare: () => ({ cheat: { conduct: {}, output: 'output-mismatch' } }),
  },
  equivocating: {
    name: 'equivocating leader',
    count: 3,
    prepare: (diary) => withConduct(equivocatingLeader(diary)),
  },
  another: {
    name: 'verifier reveals another',
    count: 3,
    prepare: (diary) => withConduct(revealsAnother(diary)),
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
  const { cheat, onJoined } = scenario.prepare(diary)
  const outcome = await runScenario({
    seed,
    jobs,
    honestNodes,
    cheats: Array.from({ length: scenario.count }, (_, index) => ({
      ...cheat,
      name: `cheat ${index}`,
    })),
    onJoined,
    isEnough: until && ((cheats) => cheats.some(({ score }) => score < newcomer.score)),
  })
  return { outcome, diary }
}
