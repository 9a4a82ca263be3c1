import type { z } from 'zod'
import { badRequest } from './openai-error.ts'

/** How requests are read. */
export type ReadingOptions = {
  /** Refuses what the service cannot honour, in place of ignoring it. */
  readonly isStrict: boolean
}

/** The parameters of one kind of request. */
export type Parameters<T> = {
  /** All of them but `quiet`, strictly. */
  readonly whole: z.ZodType<T>
  readonly supported: Readonly<Record<string, z.ZodType>>
  /** What may be asked for only as far as it is what the service does anyway. */
  readonly asItIs: Readonly<Record<string, z.ZodType>>
  /** How a model picks its words, likewise. */
  readonly sampling: Readonly<Record<string, z.ZodType>>
  /** What says nothing of the answer. */
  readonly quiet: readonly string[]
  /** The parameter that holds the conversation. */
  readonly conversation: string
}

/** A request as it was read: the parameters that count, and the names of those that have no effect (`messages[0].cache_control`). */
type Read<T> = { readonly data: T; readonly ignored: readonly string[] }

/** Reads the body of a request; throws OpenAiError 400 that names what is wrong, or with `isStrict` what the service cannot honour. */
export function readParameters<T>(
  body: unknown,
  parameters: Parameters<T>,
  { isStrict }: ReadingOptions,
): Read<T> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('The body must be a JSON object', undefined, 'invalid_json')
  }
  const given = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  const isIgnored = ([name, value]: readonly [string, unknown]) =>
    parameters.quiet.includes(name) || (!isStrict && !isHonoured(parameters, name, value))
  const kept = Object.fromEntries(given.filter((entry) => !isIgnored(entry)))
  const { parsed, dropped } = isStrict
    ? { parsed: parameters.whole.safeParse(kept), dropped: [] }
    : readKnown(parameters.whole, kept)
  if (!parsed.success) throw refusal(parameters, closestIssue(parsed.error), body)
  return {
    data: parsed.data,
    ignored: [...given.filter(isIgnored).map(([name]) => name), ...dropped],
  }
}

/** Other vendors give them values of their own, such as the effort `default`. */
const lenient = ['metadata', 'parallel_tool_calls', 'reasoning', 'reasoning_effort']

const isHonoured = (
  { supported, asItIs, sampling }: Parameters<unknown>,
  name: string,
  value: unknown,
): boolean => {
  if (Object.hasOwn(supported, name)) {
    const { error } = lenient.includes(name) ? (supported[name]?.safeParse(value) ?? {}) : {}
    return error?.issues.every(({ code }) => code === 'unrecognized_keys') ?? true
  }
  const only: Readonly<Record<string, z.ZodType>> = { ...asItIs, ...sampling }
  return Object.hasOwn(only, name) && only[name]?.safeParse(value).success === true
}

/** Reads a body, removes the members that the schema does not know, such as a message's `cache_control`, and names these. */
function readKnown<T>(whole: z.ZodType<T>, body: Readonly<Record<string, unknown>>) {
  const parsed = whole.safeParse(body)
  const unknown = (parsed.error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [],
  )
  if (unknown.length === 0) return { parsed, dropped: [] }
  for (const path of unknown) removeAt(body, path)
  return { parsed: whole.safeParse(body), dropped: unknown.map(paramOf) }
}

function removeAt(body: object, path: readonly PropertyKey[]): void {
  const parents = path.slice(0, -1)
  const parent = parents.reduce<unknown>((at, step) => Reflect.get(Object(at), step), body)
  const last = path.at(-1)
  if (last !== undefined) Reflect.deleteProperty(Object(parent), last)
}

type Issue = z.core.$ZodIssue

/** Returns the first issue. For a value of several forms, this is the issue of the form that fits furthest, or those of all forms. */
export const closestIssue = ({ issues: [issue] }: z.core.$ZodError): Issue | undefined =>
  issue && withinUnion(issue)

function withinUnion(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const ofForms = issue.errors.flatMap(([first]) => (first ? [withinUnion(first)] : []))
  const deepest = ofForms.toSorted((a, b) => b.path.length - a.path.length)[0]
  if (!deepest) return issue
  if (deepest.path.length > 0) return { ...deepest, path: [...issue.path, ...deepest.path] }
  return { ...issue, message: ofForms.map(({ message }) => message).join(', or ') }
}

function refusal(
  { asItIs, sampling, conversation }: Parameters<unknown>,
  issue: Issue | undefined,
  body: object,
) {
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0) {
    const [name = ''] = issue.keys
    return badRequest(`Unknown parameter: ${name}`, name, 'unknown_parameter')
  }
  const path = issue?.path ?? []
  const param = paramOf(path)
  const [name = ''] = path.map(String)
  if (!(name in body)) return badRequest(`${name} is missing`, name, 'missing_required_parameter')
  if (name in sampling) {
    const message = `The nodes answer near temperature 0, so that their answers can be compared, and cannot honour ${name}. Leave it out, or start the gateway without --strict`
    return badRequest(message, param, 'unsupported_value')
  }
  if (name in asItIs) {
    const message = `The service returns one text and cannot honour ${name}. Leave it out, or start the gateway without --strict`
    return badRequest(message, param, 'unsupported_value')
  }
  if (name === conversation && path.length > 1) {
    const message = `${param}: ${issue?.message}; images, audio and files cannot be sent, only texts of system, developer, user, assistant and tool, and calls of functions`
    return badRequest(message, param, 'unsupported_value')
  }
  return badRequest(`${param}: ${issue?.message ?? 'it is not valid'}`, param, 'invalid_value')
}

/** Throws OpenAiError 400 for the first of these parts of a request, if there are any. */
export function cannotHonour([name]: readonly string[]): void {
  if (name === undefined) return
  const message = `The service cannot honour ${name}. Leave it out, or start the gateway without --strict`
  throw badRequest(message, name, 'unsupported_value')
}

/** Where in a request something is, as OpenAI writes it: `messages[0].content`. */
export const paramOf = (path: readonly PropertyKey[]): string =>
  path
    .map((step, at) =>
      typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${String(step)}`,
    )
    .join('')
