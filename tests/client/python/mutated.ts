import type { Dice } from '../../simulation/dice.ts'
import { type Change, changed } from '../../vectors/make/differences.ts'

type Place = { readonly pointer: string; readonly value: unknown }

const strange: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1,
  1.5,
  2 ** 53,
  1e21,
  '',
  '0',
  '0x0',
  [],
  {},
]

/** A JSON value with one thing in it changed, by chance. */
export function mutated(value: unknown, dice: Dice): unknown {
  const places = placesIn(value)
  for (;;) {
    const made = changed(value, [changeOf(dice.pick(places), places, dice)])
    if (JSON.stringify(made) !== JSON.stringify(value)) return made
  }
}

/** Bytes with one of them changed, by chance. */
export const flipped = (bytes: Uint8Array, dice: Dice): Uint8Array => {
  const at = dice.between(0, bytes.length - 1)
  return bytes.with(at, (bytes[at] ?? 0) ^ (1 << dice.between(0, 7)))
}

function placesIn(value: unknown, pointer = ''): readonly Place[] {
  const inside =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) => placesIn(one, `${pointer}/${name}`))
      : []
  return pointer === '' ? inside : [{ pointer, value }, ...inside]
}

function changeOf({ pointer, value }: Place, places: readonly Place[], dice: Dice): Change {
  const alike = places.filter((other) => kindOf(other.value) === kindOf(value))
  const makes: (() => Change)[] = [
    () => [pointer],
    () => [pointer, dice.pick(strange)],
    () => [pointer, dice.pick(alike).value],
    () => [`${pointer.slice(0, pointer.lastIndexOf('/'))}/note`, value],
  ]
  if (typeof value === 'number') {
    makes.push(
      () => [pointer, value + dice.pick([-1, 1])],
      () => [pointer, value * 2],
    )
  }
  if (typeof value === 'string') makes.push(...textChanges(pointer, value, dice))
  if (Array.isArray(value)) makes.push(...listChanges(pointer, value, dice))
  return dice.pick(makes)()
}

const textChanges = (pointer: string, text: string, dice: Dice): readonly (() => Change)[] => [
  () => {
    const at = dice.between(0, text.length - 1)
    return [
      pointer,
      text.slice(0, at) + dice.pick([...'0189afAFgwz-_/ \n\u0660é']) + text.slice(at + 1),
    ]
  },
  () => [pointer, text.toUpperCase()],
  () => [pointer, `${text}${dice.pick(['\n', '=', ' ', '0', 'A'])}`],
  () => [pointer, text.slice(0, -1)],
]

const listChanges = (
  pointer: string,
  list: readonly unknown[],
  dice: Dice,
): readonly (() => Change)[] => [
  () => [pointer, list.filter((_, at) => at !== list.length - 1)],
  () => [pointer, list.toReversed()],
  () => [pointer, list.length === 0 ? [0] : [...list, dice.pick(list)]],
]

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value)
