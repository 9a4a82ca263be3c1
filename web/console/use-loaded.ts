import { useEffect, useState } from 'preact/hooks'
import { errorMessage } from '../../lib/error-message.ts'

/** A value that is read from the ICL. The last value stays during a reload and when it fails. */
export type Loaded<T> = { readonly value?: T | undefined; readonly error?: string | undefined }

/** Reads again whenever `key` or `turn` changes. Does not show the value of another key. */
export function useLoaded<T>(key: string, turn: unknown, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { readonly key: string }>({ key })
  useEffect(() => {
    let isOver = false
    load().then(
      (value) => {
        if (!isOver) setState({ key, value })
      },
      (error: unknown) => {
        const message = errorMessage(error)
        if (!isOver) {
          setState((known) => ({
            key,
            value: known.key === key ? known.value : undefined,
            error: message,
          }))
        }
      },
    )
    return () => {
      isOver = true
    }
  }, [key, turn])
  return state.key === key ? state : {}
}
