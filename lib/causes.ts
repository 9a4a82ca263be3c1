import { callCauses } from './causes/call-causes.ts'
import type { Actor, Cause } from './causes/cause.ts'
import { jobCauses } from './causes/job-causes.ts'
import { nodeCauses } from './causes/node-causes.ts'
import { providerCauses } from './causes/provider-causes.ts'
import type { AssignmentReason, DeliveryReason, JobReason, VerdictReason } from './schemas/jobs.ts'

/*
 * Why a job, a node or a call fails. A node gives an assignment back with one of these codes, the ICL keeps it in the job's history, and
 * the node's log, the client and the console explain it from this table, so that all three name the same cause and the same one to act.
 * A new cause is a new row: the wire's enums and the type of the table keep the two in step, and no two rows read alike (a test).
 */

/** The code of a cause, on the wire and in errors. */
export type CauseCode =
  | AssignmentReason
  | DeliveryReason
  | VerdictReason
  | Exclude<JobReason, 'quorum-agreed'>
  | keyof typeof callCauses

/** Every cause, by code. */
export const causes: Readonly<Record<CauseCode, Cause>> = {
  ...providerCauses,
  ...nodeCauses,
  ...jobCauses,
  ...callCauses,
}

const labels: Readonly<Record<Actor, string>> = {
  client: 'Client',
  'node operator': 'Node operator',
  'service operator': 'Service operator',
  provider: 'Provider',
  nobody: 'Nobody has to act',
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

// Only the node itself knows the environment variable of its key.
const filled = (text: string, model: string | undefined, keyVariable?: string): string => {
  const provider = model?.slice(0, model.indexOf(':')) ?? 'the provider'
  return text
    .replace('{key}', keyVariable ?? `the API key of ${provider}`)
    .replace(' {model}', model === undefined ? '' : ` ${model}`)
}

/** True for a code of the table. */
export const isCause = (code: string): code is CauseCode => Object.hasOwn(causes, code)

/** What happened, as a clause. */
export const whatOf = (code: CauseCode, model?: string): string => filled(causes[code].what, model)

/** What to do, for a reader: one that is not the actor, or not known, is told who is. */
export function remedyFor(
  reader: Actor | undefined,
  code: CauseCode,
  model?: string,
  keyVariable?: string,
): string {
  const { who, remedy } = causes[code]
  const text = filled(remedy, model, keyVariable)
  return who === reader ? `${sentence(text)}.` : `${labels[who]}: ${text}.`
}

/** A cause in one line: what happened and who has to do what. */
export const causeLine = (reader: Actor | undefined, code: CauseCode, model?: string): string =>
  `${sentence(whatOf(code, model))}. ${remedyFor(reader, code, model)}`
