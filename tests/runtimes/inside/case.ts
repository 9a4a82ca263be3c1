/** One thing that the code does, on whatever runtime this is; it throws when it does something else. */
export type Case = { readonly name: string; readonly run: () => Promise<void> }

/** A case by its name. */
export const that = (name: string, run: Case['run']): Case => ({ name, run })

/** What came of one case; `error` when it failed. */
export type CaseResult = { readonly name: string; readonly error?: string }

/** Runs cases one after another; never throws. */
export async function runAll(cases: readonly Case[]): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = []
  for (const { name, run } of cases) {
    try {
      await run()
      results.push({ name })
    } catch (error) {
      results.push({ name, error: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
}

/** Throws what is wrong unless something holds. */
export function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

/** Throws unless two texts are the same. */
export const same = (what: string, got: string | undefined, expected: string): void =>
  check(got === expected, `${what} is ${got} instead of ${expected}`)

/** Makes a thing when it is first asked for. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
