import {
  colluder,
  copier,
  denier,
  equivocator,
  late,
  lazy,
  neverDelivers,
  neverReveals,
  newDiary,
  silent,
  wrongAnswers,
} from '../scenarios/conducts.ts'
import type { Conduct } from './node.ts'
import type { CheatKind } from './parameters.ts'
import type { World } from './world.ts'

/** Lets nodes join that do not do as they should. */
export async function addCheats(
  world: World,
  seed: number,
  kinds: readonly CheatKind[],
): Promise<void> {
  const conducts: Record<CheatKind, () => Conduct> = {
    colluder: () => colluder,
    copier: () => copier(newDiary()),
    denier: () => denier,
    equivocator: () => equivocator(newDiary()),
    late: () => late,
    lazy: () => lazy,
    liar: () => wrongAnswers(),
    'never-delivers': () => neverDelivers,
    'never-reveals': () => neverReveals,
    silent: () => silent,
  }
  for (const [index, kind] of kinds.entries()) {
    await world.addNode(`seed ${seed} ${kind} ${index}`, { conduct: conducts[kind]() })
  }
}
