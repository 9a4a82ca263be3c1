const contractions: ReadonlyMap<string, string> = new Map([
  ["can't", 'can not'],
  ['cannot', 'can not'],
  ["won't", 'will not'],
  ["shan't", 'shall not'],
  ["let's", 'let us'],
  ...['it', 'that', 'there', 'what', 'who', 'he', 'she', 'here'].map(
    (word) => [`${word}'s`, `${word} is`] as const,
  ),
])

const endings: readonly (readonly [string, string])[] = [
  ["n't", ' not'],
  ["'re", ' are'],
  ["'ve", ' have'],
  ["'ll", ' will'],
  ["'d", ' would'],
  ["'m", ' am'],
  ["'s", ''],
]

/** Expands a lower-case word: contractions are written out, possessives dropped. */
export function wordsOf(word: string): readonly string[] {
  return (contractions.get(word) ?? withoutEnding(word))
    .replaceAll("'", '')
    .split(' ')
    .filter((part) => part !== '')
}

function withoutEnding(word: string): string {
  if (!word.includes("'")) return word
  for (const [ending, meaning] of endings) {
    if (word.endsWith(ending) && word.length > ending.length) {
      return word.slice(0, -ending.length) + meaning
    }
  }
  return word
}

/** Words that do not show the topic of a text. */
export const stopwords: ReadonlySet<string> = new Set(
  `a an the and or but if then so of in on at to for from by with as is are was were be been being am do does did
  has have had this that these those it its he she they them his her their we us our you your i me my which who
  whom what when where how there here also just can could will would should may might must shall than too very
  into over under about up down out off again more most some any each all both such only own same other one`.split(
    /\s+/,
  ),
)

/** Words that negate a statement. */
export const negators: ReadonlySet<string> = new Set(
  'not no never none nor neither without nothing nobody false incorrect unless except'.split(' '),
)

/** Strips a word's commonest endings. A stem has at least three letters. */
export function stemOf(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (word.endsWith('sses')) return word.slice(0, -2)
  let stem = /[^sui]s$/.test(word) ? word.slice(0, -1) : word
  if (stem.endsWith('ing') && stem.length > 6) stem = stem.slice(0, -3)
  else if (/(?:ed|ly)$/.test(stem) && stem.length > 5) stem = stem.slice(0, -2)
  return stem.endsWith('e') && stem.length > 4 ? stem.slice(0, -1) : stem
}
