import type { Dice } from '../../simulation/dice.ts'

/** The kinds of statements an answer is made of; each is worded in several ways. */
export const wordings = {
  action: [
    'The {S} {V} the {O} {T}.',
    '{T^}, the {S} {V} the {O}.',
    'What {V} the {O} {T} is the {S}.',
    'You will find that the {S} {V} the {O} {T}.',
    'It is the {S} that {V} the {O} {T}.',
    'Few would guess it, but the {S} {V} the {O} {T}.',
    'Watch how the {S} {V} the {O} {T}.',
    '{T^} comes the moment when the {S} {V} the {O}.',
    'Nothing {V} the {O} as well as the {S}, above all {T}.',
  ],
  amount: [
    'The {S} can take up to {N} {U} before it becomes {Q}.',
    'Up to {N} {U} are possible for the {S}, and beyond that it is {Q}.',
    'A limit of {N} {U} applies to the {S}, which otherwise turns {Q}.',
    'Once there are more than {N} {U}, the {S} gets {Q}.',
    'If it has to cope with over {N} {U}, expect the {S} to be {Q}.',
    'Somewhere near {N} {U} the {S} begins to be {Q}.',
    'With {N} {U} the {S} has enough; any more makes it {Q}.',
    'Engineers give {N} {U} as the point where a {S} turns {Q}.',
    'For the {S} a figure of {N} {U} is usual, though {Q} ones differ.',
  ],
  person: [
    '{P} looks after the {S} and {V} the {O} {T}.',
    'The {S} is in the care of {P}, who also {V} the {O} {T}.',
    'Ask {P} about the {S}, since it is this person who {V} the {O} {T}.',
    '{T^} it is {P} who {V} the {O} and is in charge of the {S}.',
    'Since last year {P} runs the {S} and {V} the {O} {T}.',
    'Thanks to {P}, somebody {V} the {O} {T} and minds the {S}.',
    'Whoever meets {P} near the {S} sees how the {O} is dealt with {T}.',
    'Some years ago {P} took on the {S}, and now {V} the {O} {T}.',
  ],
  place: [
    'The {S} comes from {L}, where the {Q} {O} is made.',
    'In {L}, home of the {Q} {O}, the {S} was built.',
    'Both the {S} and the {Q} {O} were brought here from {L}.',
    'It was {L} that gave us the {S}, along with a {Q} {O}.',
    '{L} sent the first {S}, packed beside a {Q} {O}.',
    'Travellers know {L} for its {S} and for the {Q} {O}.',
    'A copy of the {S} stands in {L} next to the {Q} {O}.',
    'People in {L} still prefer their own {S} with a {Q} {O}.',
  ],
  reason: [
    'The {S} {V} the {O} {R}.',
    '{R^}, the {S} {V} the {O}.',
    'There is a reason why the {S} {V} the {O}: it is done {R}.',
    'One lets the {S} work so that it {V} the {O}, {R}.',
    'Our {S} {V} the {O}, and it does that {R}.',
    'Why a {S} {V} the {O} is soon told: {R}.',
    '{R^}, somebody chose a {S} that {V} the {O}.',
    'Plans call for a {S} which {V} the {O} {R}.',
  ],
  denial: [
    'The {S} does not {W} the {O} {T}.',
    '{T^}, the {O} is not something the {S} should {W}.',
    'Nobody expects that the {S} would {W} the {O} {T}, and it does not.',
    'It is not true that the {S} has to {W} the {O} {T}.',
    'Never let the {S} {W} the {O} {T}.',
    'No {S} was meant to {W} the {O} {T}.',
    'Neither by plan nor by chance will the {S} {W} the {O} {T}.',
    'Whatever people say, no {S} can {W} the {O} {T}.',
  ],
  advice: [
    'Make sure that the {S} is {Q} before it has to {W} the {O}.',
    'Before the {S} gets to {W} the {O}, see to it that it is {Q}.',
    'A {Q} {S} is needed to {W} the {O}.',
    'You want the {S} to be {Q}, because it must {W} the {O}.',
    'Do check whether the {S} is {Q}, as only then can it {W} the {O}.',
    'Keep the {S} {Q}, or else somebody else must {W} the {O}.',
    'Try a {Q} {S} first and let it {W} the {O}.',
    'Good crews keep their {S} {Q} and use it to {W} the {O}.',
    'Spend a minute on the {S}: being {Q}, it will {W} the {O} well.',
  ],
  condition: [
    'If the {S} is too {Q}, the {O} suffers {T}.',
    'A {S} that is too {Q} does the {O} no good {T}.',
    'The {O} gets worse {T} when the {S} is too {Q}.',
    '{T^}, too {Q} a {S} spoils the {O}.',
    'Should the {S} become {Q}, look at the {O} {T}.',
    'Trouble with the {O} {T} often means a {Q} {S}.',
    'Unless the {S} stays away from {Q} conditions, the {O} fails {T}.',
    'Given a {Q} {S}, no {O} lasts long, least of all {T}.',
  ],
  order: [
    'First comes the {S}, then the {O}, and the whole takes {N} {U}.',
    'It takes {N} {U} to get from the {S} to the {O}.',
    'Start with the {S}, go on with the {O}, and allow {N} {U} for it.',
    'The {O} has its turn after the {S}, which makes {N} {U} in all.',
    'Count {N} {U} between the {S} and the {O}.',
    'From the {S} to the {O} people need {N} {U} on average.',
    'Between {S} and {O} lie {N} {U}, as records show.',
    'Give the {S} a lead of {N} {U} over the {O}.',
  ],
  contrast: [
    'While the {S} is {Q}, the {O} seldom is.',
    'The {S} is more {Q} than the {O}.',
    'Compared with the {O}, the {S} is rather {Q}.',
    'The {O} is less {Q} than the {S} in most years.',
    'Unlike the {O}, our {S} stayed {Q} all along.',
    'Put the {S} beside the {O} and see which one is {Q}.',
    'Nobody calls the {O} {Q}, yet everybody says so of the {S}.',
    'Between {S} and {O}, choose the {S} if you like things {Q}.',
  ],
} as const satisfies Record<string, readonly string[]>

/** How the figure that was asked for is given at the end. */
export const closings: readonly string[] = [
  'The answer is {N} {U}.',
  'So the answer is {N} {U}.',
  'Therefore, the answer is {N} {U}.',
  'Altogether, the final answer is {N} {U}.',
]

/** How the questions are put. */
export const promptWordings: readonly string[] = [
  'Explain how the {S} and the {O} of the {topic} in {L} work together. Write about {words} words.',
  'I am new at the {topic} in {L}. What do I have to know about the {S} and the {O}? Use roughly {words} words.',
  'Why does the {S} of the {topic} in {L} matter for the {O}? Answer in around {words} words.',
  'Describe a usual week at the {topic} in {L}, above all the {S} and the {O}, in some {words} words.',
  'The {S} of the {topic} in {L} has failed. How does this affect the {O}? About {words} words, please.',
  'Write {words} words for a leaflet on the {topic} in {L} that covers the {S} and the {O}.',
]

/** Fills the slots of a wording; `^` begins a sentence. */
export function fill(wording: string, slots: Readonly<Record<string, string>>): string {
  return wording.replace(/\{(\w+)(\^?)\}/g, (_, name: string, capital: string) => {
    const words = slots[name]
    if (words === undefined) throw new Error(`no words for ${name} in: ${wording}`)
    return capital === '^' ? words.charAt(0).toUpperCase() + words.slice(1) : words
  })
}

/** One of the words that say the same, in one of their forms (`one/bare`). */
export const wordOf = (synonyms: readonly string[], dice: Dice, form: 0 | 1 = 0): string => {
  const forms = dice.pick(synonyms).split('/')
  return forms[form] ?? forms[0]!
}
