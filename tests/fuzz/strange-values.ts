import type { Dice } from '../simulation/dice.ts'

const deep = (depth: number): unknown => (depth === 0 ? 0 : [deep(depth - 1)])

/** Texts that parsers stumble over. */
export const strangeTexts: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '00',
  '1e309',
  '0x',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '\u202eabc\u202c',
  'é'.normalize('NFD'),
  '\u{1f4a9}'.repeat(8),
  "' OR 1=1 --",
  '{"$ne":null}',
  '#{7*7}',
  '../../etc/passwd',
  '%2e%2e%2f',
  '<script>alert(1)</script>',
  'a'.repeat(200),
  'A'.repeat(5_000),
  `0x${'f'.repeat(40)}`,
  `0x${'F'.repeat(64)}`,
  `0x${'0'.repeat(64)}`,
  `bafkreia${'7'.repeat(50)}a`,
  '115792089237316195423570985008687907853269984665640564039457584007913129639936',
]

/** A text as an address can carry it: half a character cannot be encoded. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')

const strangeNumbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  2,
  5,
  6,
  30,
  31,
  255,
  256,
  1_000_000,
  1_000_001,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  1e21,
  1e308,
  99_999_999_999,
  100_000_000_000,
]

/** A value that is seldom what is asked for: another type, a boundary, something huge. */
export function strangeValue(dice: Dice): unknown {
  switch (dice.between(0, 6)) {
    case 0:
      return dice.pick(strangeNumbers)
    case 1:
    case 2:
      return dice.pick(strangeTexts)
    case 3:
      return dice.pick([null, true, false, [], {}, [null], { $gt: '' }, { length: 1e9 }])
    case 4:
      return deep(dice.between(1, 200))
    case 5:
      return Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, index]))
    default:
      return JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}')
  }
}
