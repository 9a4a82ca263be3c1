import { useEffect, useState } from 'preact/hooks'
import { errorMessage } from '../../lib/error-message.ts'

/** Something that is read from the ICL; the last value stays while it is read again or that fails. */
export type Loaded<T> = { readonly value?: T | undefined; readonly error?: string | undefined }

/** Reads again whenever `key` changes; what belongs to another key is not shown. */
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
