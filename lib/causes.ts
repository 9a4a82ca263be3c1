import { callCauses } from './causes/call-causes.ts'
import type { Actor, Cause } from './causes/cause.ts'
import { filled, remedyOf } from './causes/line.ts'
import { type StoryCode, storyCauses } from './causes/story.ts'

/*
 * Why a job, a node or a call fails. A node gives an assignment back with one of these codes, and the ICL keeps it in the job's history.
 * The node's log, the client and the console explain it from this table, so all three name the same cause and the same actor. A new cause
 * is a new row. The wire's enums and the type of the table must agree, and a test checks that no two rows read alike.
 */

/** The code of a cause, on the wire and in errors. */
export type CauseCode = StoryCode | keyof typeof callCauses

/** Every cause, by code. */
export const causes: Readonly<Record<CauseCode, Cause>> = {
  ...storyCauses,
  ...callCauses,
}

/** True for a code of the table. */
export const isCause = (code: string): code is CauseCode => Object.hasOwn(causes, code)

/** What happened, as a clause. */
export const whatOf = (code: CauseCode, model?: string): string => filled(causes[code].what, model)

/** What to do, as told to `reader`. A reader who is not the actor, or is not known, is told who the actor is. */
export const remedyFor = (
  reader: Actor | undefined,
  code: CauseCode,
  model?: string,
  keyVariable?: string,
): string => remedyOf(causes[code], reader, model, keyVariable)
