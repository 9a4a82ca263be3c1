import type { Actor, Cause } from './cause.ts'

const labels: Readonly<Record<Exclude<Actor, 'nobody'>, string>> = {
  client: 'Client',
  'node operator': 'Node operator',
  'service operator': 'Service operator',
  provider: 'Provider',
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

// Only the node itself knows the environment variable of its key.
/** Fills a job's names into a text of the table. */
export const filled = (text: string, model: string | undefined, keyVariable?: string): string => {
  const provider = model?.slice(0, model.indexOf(':')) ?? 'the provider'
  return text
    .replace('{key}', keyVariable ?? `the API key of ${provider}`)
    .replace(' {model}', model === undefined ? '' : ` ${model}`)
}

/** What to do about a cause, as told to `reader`. A reader who is not the actor, or is not known, is told who the actor is. */
export function remedyOf(
  { who, remedy }: Cause,
  reader: Actor | undefined,
  model?: string,
  keyVariable?: string,
): string {
  const text = filled(remedy, model, keyVariable)
  return who === reader || who === 'nobody' ? `${sentence(text)}.` : `${labels[who]}: ${text}.`
}

/** A cause in one line: what happened, and who has to do what. */
export const lineOf = (cause: Cause, reader: Actor | undefined, model?: string): string =>
  `${sentence(filled(cause.what, model))}. ${remedyOf(cause, reader, model)}`
