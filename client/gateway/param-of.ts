/** Where in a request something is, as OpenAI writes it: `messages[0].content`. */
export const paramOf = (path: readonly PropertyKey[]): string =>
  path
    .map((step, at) =>
      typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${String(step)}`,
    )
    .join('')
