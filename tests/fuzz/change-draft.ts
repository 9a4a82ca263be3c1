import type { Draft } from './call.ts'
import { strangeTexts, strangeValue, wellFormed } from './strange-values.ts'
import type { FuzzWorld } from './world.ts'

/** A change of what a request says; undefined where it has no such part. */
type Change = (world: FuzzWorld, draft: Draft) => Draft | undefined
/** With what is known of its outcome: a reason why it must be refused. */
export type ChangedDraft = { readonly draft: Draft; readonly refusedFor?: string }

type Fields = Record<string, unknown>
const isFields = (body: unknown): body is Fields =>
  typeof body === 'object' && body !== null && !(body instanceof Uint8Array) && !Array.isArray(body)

/** Changes one field somewhere in a body, at any depth. */
function changeField(world: FuzzWorld, body: Fields, depth = 0): Fields {
  const { dice } = world
  const names = Object.keys(body)
  if (names.length === 0) return { extra: strangeValue(dice) }
  const name = dice.pick(names)
  const value = body[name]
  if (isFields(value) && depth < 4 && dice.chance(0.6)) {
    return { ...body, [name]: changeField(world, value, depth + 1) }
  }
  const { [name]: _, ...others } = body
  if (dice.chance(0.2)) return others
  if (typeof value === 'number' && dice.chance(0.4)) {
    return { ...body, [name]: value + dice.pick([-1, 1, 1_000, -1_000]) }
  }
  if (typeof value === 'string' && value !== '' && dice.chance(0.4)) {
    return { ...body, [name]: dice.pick(changedTexts)(value) }
  }
  return { ...body, [name]: strangeValue(dice) }
}

const changedTexts: readonly ((text: string) => string)[] = [
  (text) => text.slice(0, -1),
  (text) => `${text}A`,
  (text) => text.toUpperCase(),
  (text) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`,
  (text) => ` ${text}`,
  (text) => text + text,
]

const changes: Readonly<Record<string, Change>> = {
  field: (world, draft) =>
    isFields(draft.body) ? { ...draft, body: changeField(world, draft.body) } : undefined,
  'unknown field': ({ dice, planted }, draft) =>
    isFields(draft.body)
      ? { ...draft, body: { ...draft.body, password: planted.canary, x: strangeValue(dice) } }
      : undefined,
  'other body': ({ dice }, draft) =>
    draft.operation.body?.schema ? { ...draft, body: strangeValue(dice) } : undefined,
  bytes: ({ dice }, draft) =>
    draft.body instanceof Uint8Array
      ? { ...draft, body: dice.pick([new Uint8Array(), new Uint8Array(40_000), dice.bytes(300)]) }
      : undefined,
  'path parameter': ({ dice, nodes, model }, draft) => {
    const names = Object.keys(draft.params)
    if (names.length === 0) return undefined
    const name = dice.pick(names)
    const value = draft.params[name] ?? ''
    const near = [value.slice(0, -1), value.toUpperCase(), `${value}0`, value.replace('0x', '0X')]
    const other = [dice.pick(nodes).address, ...model.jobs.slice(-3).map(({ jobId }) => jobId)]
    const text = dice.pick([...near, ...other, ...strangeTexts.filter((strange) => strange !== '')])
    return { ...draft, params: { ...draft.params, [name]: wellFormed(text) } }
  },
  'query parameter': ({ dice }, draft) => {
    const known = draft.operation.parameters.flatMap((part) =>
      part.in === 'query' ? part.name : [],
    )
    const name = dice.pick([...known, 'unknown', '__proto__', 'wait', 'cursor'])
    return { ...draft, query: { ...draft.query, [name]: wellFormed(dice.pick(strangeTexts)) } }
  },
}

/** Changes what a request says, in one place. */
export function changeDraft(world: FuzzWorld, draft: Draft): ChangedDraft & { what: string } {
  const { dice } = world
  for (let tries = 0; tries < 8; tries++) {
    const what = dice.pick(Object.keys(changes))
    const changed = changes[what]?.(world, draft)
    if (changed) return { draft: changed, what }
  }
  return { draft, what: 'nothing' }
}

/** The same request from a caller whom it does not concern; undefined where it concerns everybody, or nobody is named. */
export function fromAnother(world: FuzzWorld, draft: Draft): ChangedDraft | undefined {
  const { dice, clients, nodes, model } = world
  const { sender, params, body } = draft
  const address = sender && 'address' in sender ? sender.address : undefined
  if (sender?.kind === 'wallet') {
    const other = dice.pick(clients.filter((client) => client.address !== address))
    // A stranger cannot attest for a node, see a job, or use a list or a key of another client.
    const concerns =
      params.jobId ??
      (isFields(body) ? (body.operator_address ?? body.list ?? body.terms) : undefined)
    if (concerns === undefined) return undefined
    return { draft: { ...draft, sender: other.signer }, refusedFor: 'a foreign wallet' }
  }
  if (sender?.kind === 'node') {
    const other = dice.pick(nodes.filter((node) => node.address !== address))
    const names = params.address !== undefined || (isFields(body) && 'operator_address' in body)
    return {
      draft: { ...draft, sender: other.signer },
      ...(names && { refusedFor: 'a request about another node' }),
    }
  }
  const other = model.jobs.find(({ jobId }) => jobId !== params.jobId)
  if (sender?.kind !== 'token' || params.jobId === undefined || !other) return undefined
  return {
    draft: { ...draft, sender: { kind: 'token', token: other.readToken, jobId: other.jobId } },
    refusedFor: 'the read token of another job',
  }
}
