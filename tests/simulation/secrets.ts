import type { Store } from '../../icl/store/store.ts'

/** A text that others could read, and where it is from. */
export type Readable = { readonly place: string; readonly text: string }

/** What must be readable nowhere. */
export type Secret = { readonly kind: string; readonly text: string }

/** Every secret that a text shows, in words. */
export function findLeaks(
  places: readonly Readable[],
  secrets: readonly Secret[],
): readonly string[] {
  return places.flatMap(({ place, text }) =>
    secrets.flatMap((secret) =>
      text.includes(secret.text) ? [`${place} shows ${secret.kind}`] : [],
    ),
  )
}

/** A number as it may be written down. */
export const writingsOf = (number: bigint): readonly string[] => [
  number.toString(),
  number.toString(16).padStart(32, '0'),
]

/** Everything in a store as text. */
export async function textOfStore(store: Pick<Store, 'scan'>): Promise<string> {
  const records: string[] = []
  for await (const record of store.scan()) records.push(JSON.stringify(record, plainly))
  return records.join('\n')
}

const plainly = (_: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : value
}
