import {
  colluder,
  copyingVerifier,
  equivocatingLeader,
  lazyVerifier,
  neverReveals,
  newDiary,
  type Ring,
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
  const ring: Ring = { members: new Set(), leads: new Map() }
  const conducts: Record<CheatKind, () => Conduct> = {
    colluder: () => colluder(ring),
    copier: () => copyingVerifier(newDiary()),
    equivocator: () => equivocatingLeader(newDiary()),
    lazy: () => lazyVerifier,
    liar: () => wrongAnswers(),
    'never-reveals': () => neverReveals,
    silent: () => silent,
  }
  for (const [index, kind] of kinds.entries()) {
    const node = await world.addNode(`seed ${seed} ${kind} ${index}`, { conduct: conducts[kind]() })
    if (kind === 'colluder') ring.members.add(node.address)
  }
}
