import { z } from 'zod'
import { SessionPublicKey, SessionSignature } from '../codecs.ts'

/** An object of the wire, which the OpenAPI document lists under its name. */
export const named = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id })

/** The members of a statement that one of the ICL's published keys signed. */
export const signedByIcl = <Body extends z.ZodType>(body: Body) => ({
  body,
  key: SessionPublicKey,
  signature: SessionSignature,
})
