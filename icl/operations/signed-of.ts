import type { Posted } from '../rules/posted.ts'

/** A statement as others see it, without the hash that the ICL keeps with it. */
export const signedOf = <Body>({ body, signature, session }: Posted<Body>) => ({
  body,
  signature,
  session,
})
