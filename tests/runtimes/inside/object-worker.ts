import type { ObjectState } from '../../../icl/store/sqlite/object.ts'
import { runAll } from './case.ts'

type Namespace = {
  idFromName(name: string): unknown
  get(id: unknown): { fetch(request: Request): Promise<Response> }
}

/** The object that the store suite runs in: every request is answered with what came of each test. */
export class Suite {
  readonly #object: ObjectState
  constructor(object: ObjectState) {
    this.#object = object
  }

  async fetch(): Promise<Response> {
    // Loaded here, because vitest sets a timer, which a worker may not do outside a request.
    const { objectCases } = await import('./object-suite.ts')
    return Response.json(await runAll(objectCases(this.#object)))
  }
}

const worker = {
  fetch: (request: Request, { SUITE }: { readonly SUITE: Namespace }) =>
    SUITE.get(SUITE.idFromName('suite')).fetch(request),
}
export default worker
