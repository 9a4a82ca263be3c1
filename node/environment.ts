/** The environment variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The variables without white space at the ends: a file with CRLF leaves a carriage return. A password stays as it is. */
export const trimmed = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      name === 'SVC_KEY_PASSWORD' ? value : value?.trim(),
    ]),
  )
