/** The code with which a call is refused, undefined when it is answered. */
export const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: { readonly code?: string }) => error.code ?? String(error),
  )
