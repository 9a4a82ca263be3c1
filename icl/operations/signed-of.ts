import type { Posted } from '../rules/posted.ts'

/** A statement as others see it: without what the ICL keeps beside it. */
export const signedOf = <Body>({ body, signature, session }: Posted<Body>) => ({
  body,
  signature,
  session,
})
