import type { Operation } from './api-document.ts'
import { attestationRequests } from './attestation-requests.ts'
import type { Draft, Sender } from './call.ts'
import { clientRequests } from './client-requests.ts'
import { valueFor } from './from-schema.ts'
import { nodeRequests } from './node-requests.ts'
import { type Requests, readerOf } from './request-makers.ts'
import type { FuzzWorld, KnownJob } from './world.ts'

const special: Requests = { ...clientRequests, ...nodeRequests, ...attestationRequests }

/** A request that should be answered 2xx; undefined while there is nothing to ask it about. */
export function soundRequest(world: FuzzWorld, operation: Operation): Promise<Draft | undefined> {
  const make = special[operation.id]
  return make ? make(world, operation) : Promise.resolve(fromDocument(world, operation))
}

/** A request made of nothing but the document and of what the ICL has answered before. */
export function fromDocument(world: FuzzWorld, operation: Operation): Draft {
  const { dice, document, model } = world
  const job = model.jobs.length > 0 && dice.chance(0.95) ? dice.pick(model.jobs) : undefined
  const owner = dice.pick(world.nodes)
  const known = (name: string) => knownValue(world, name, { job, owner })
  const source = { dice, schemas: document.schemas, known }
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  for (const parameter of operation.parameters) {
    if (parameter.in === 'header' || (!parameter.required && dice.chance(0.7))) continue
    const value = String(valueFor(parameter.schema, parameter.name, source))
    if (parameter.in === 'path') params[parameter.name] = value
    else query[parameter.name] = value
  }
  return {
    operation,
    params,
    query,
    ...(operation.body && {
      body: operation.body.schema
        ? valueFor(operation.body.schema, 'body', source)
        : dice.bytes(dice.between(1, 100)),
    }),
    sender: senderFor(world, operation, { job, owner }),
  }
}

type About = { readonly job: KnownJob | undefined; readonly owner: FuzzWorld['nodes'][number] }

/** What a name means here: the job and the node that the request is about, else what an answer called so. */
function knownValue({ dice, model }: FuzzWorld, name: string, { job, owner }: About) {
  if (/^(address|operator_address)$/.test(name)) return owner.address
  if (/^job(_?id)?$/i.test(name)) return job?.jobId
  const plain = name.toLowerCase().replaceAll('_', '')
  const seen = model.named.get(plain) ?? model.named.get(plain.replace(/^.*(id|cursor)$/, '$1'))
  return seen && seen.length > 0 ? dice.pick(seen) : undefined
}

/** Who may ask: the job's client or the holder of its token, a node, a client. */
function senderFor(
  world: FuzzWorld,
  { schemes }: Operation,
  { job, owner }: About,
): Sender | undefined {
  const { dice, clients, metricsToken } = world
  if (schemes.length === 0) return undefined
  switch (dice.pick(schemes)) {
    case 'wallet':
      return (job?.client ?? dice.pick(clients)).signer
    case 'node':
      return owner.signer
    case 'readToken':
      return job && readerOf(job)
    case 'metricsToken':
      return { kind: 'token', token: metricsToken }
  }
}
