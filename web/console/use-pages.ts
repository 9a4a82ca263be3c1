import { useEffect, useRef, useState } from 'preact/hooks'
import { errorMessage } from '../../lib/error-message.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

/** One page of a list. */
export type Page<T> = { readonly items: readonly T[]; readonly next: string | null }

/** Loads the first page of a list again whenever `key` or `turn` changes, and older pages on request. */
export function usePages<T>(
  key: string,
  turn: unknown,
  load: (cursor: string | null) => Promise<Page<T>>,
) {
  const first: Loaded<Page<T>> = useLoaded(key, turn, () => load(null))
  const [older, setOlder] = useState<Page<T> | undefined>(undefined)
  const [error, setError] = useState<string | undefined>(undefined)
  const list = `${key} ${turn}`
  const shownList = useRef(list)
  shownList.current = list
  // Older pages continue the first page as it was, so they are dropped with it.
  useEffect(() => {
    setOlder(undefined)
    setError(undefined)
  }, [list])
  const cursor = older ? older.next : (first.value?.next ?? null)
  const more = () => {
    // Ignores an answer that arrives after another list was opened.
    const isOld = () => shownList.current !== list
    load(cursor).then(
      ({ items, next }) => {
        if (isOld()) return
        setError(undefined)
        setOlder({ items: [...(older?.items ?? []), ...items], next })
      },
      (reason: unknown) => {
        if (!isOld()) setError(errorMessage(reason))
      },
    )
  }
  return {
    items: [...(first.value?.items ?? []), ...(older?.items ?? [])],
    loaded: error === undefined ? first : { ...first, error },
    more,
    isMore: cursor !== null,
  }
}
