const maxKept = 256

/** Keeps the last sealed answers, for clients that fetch one by its id. */
export type Answered<T> = {
  keep(answer: T): T
  find(requestId: string): T | undefined
}

/** Makes an empty store. */
export const createAnswered = <T extends { readonly request_id: string }>(): Answered<T> => {
  const kept = new Map<string, T>()
  return {
    keep: (answer) => {
      kept.set(answer.request_id, answer)
      for (const oldest of kept.keys()) {
        if (kept.size <= maxKept) break
        kept.delete(oldest)
      }
      return answer
    },
    find: (requestId) => kept.get(requestId),
  }
}
