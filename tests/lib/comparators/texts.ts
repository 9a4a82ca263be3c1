import type { EvidenceInput } from '../../../lib/comparators/comparator.ts'

/** A key of evidence. */
export const keyOf = (seed = 1): Uint8Array<ArrayBuffer> => new Uint8Array(32).fill(seed)

/** What evidence of a text is made from, with a prompt that the text does not repeat. */
export const inputOf = (text: string, changes: Partial<EvidenceInput> = {}): EvidenceInput => ({
  text,
  prompt: 'How does the lift work?',
  key: keyOf(),
  ...changes,
})

/** An answer of 76 words with a number, a name and a negation. */
export const liftAnswer = [
  'The lift in the old harbour tower is driven by water from a tank under the roof.',
  'When the keeper opens the valve, the tank of the upper cabin fills until it outweighs the lower one,',
  'and both begin to move along 48 metres of steel rail.',
  'A brake that Hedwig Sommer designed holds the cabins whenever the rope is slack.',
  'The lift does not need any motor, but the pump that brings the water back up runs all night.',
].join(' ')

/** An answer about something else. */
export const breadAnswer = [
  'Mix the flour with warm milk, add yeast and a spoon of honey, and knead the dough for ten minutes.',
  'Let it rest under a cloth until it has doubled, then shape two loaves and cut their tops.',
  'Bake them in a hot oven, and knock on the bottom: a hollow sound means that the bread is ready.',
  'Cool it on a rack before slicing, or the crumb will tear and stick to the knife.',
].join(' ')
