import { ProblemError } from '../../lib/problem.ts'
import { checkHost } from '../http/request-form.ts'
import { type Bindings, createEdgeIcl, problemAnswer } from './edge-icl.ts'

const awakeMs = 20_000

type ObjectState = { readonly storage: { setAlarm(at: number): Promise<void> } }

type Namespace = {
  idFromName(name: string): unknown
  get(id: unknown): { fetch(request: Request): Promise<Response> }
}

type WorkerBindings = Bindings & { readonly ICL: Namespace }

/** The one object that holds the ICL: what one request waits for, another of the same object can wake. The host asks for a class. */
export class Icl {
  readonly #state: ObjectState
  readonly #icl: ReturnType<typeof createEdgeIcl>
  #alarmAt = 0

  constructor(state: ObjectState, bindings: Bindings) {
    this.#state = state
    this.#icl = createEdgeIcl(bindings, (line) => console.log(line.trimEnd()))
  }

  async fetch(request: Request): Promise<Response> {
    await this.#stayAwake()
    return this.#icl.fetch(request)
  }

  /** Has the host start the object again if it has ended it, so that what is due is done without any request. */
  async alarm(): Promise<void> {
    this.#alarmAt = 0
    await this.#stayAwake()
    await this.#icl.fetch(new Request('http://icl/livez'))
  }

  async #stayAwake(): Promise<void> {
    const now = Date.now()
    if (now < this.#alarmAt) return
    this.#alarmAt = now + awakeMs
    await this.#state.storage.setAlarm(this.#alarmAt)
  }
}

const objectOf = ({ ICL }: WorkerBindings) => ICL.get(ICL.idFromName('icl'))

/** The edge host's entry: requests and the host's cron reach the same object. */
const worker = {
  fetch: async (request: Request, bindings: WorkerBindings): Promise<Response> => {
    // The host hands on no request whose address it cannot read: it would answer 500 and log a fault of the worker.
    try {
      checkHost(request.headers)
      if (!URL.canParse(request.url)) {
        throw new ProblemError('invalid-request', 'The address cannot be read')
      }
    } catch (error) {
      if (error instanceof ProblemError) return problemAnswer(error)
      throw error
    }
    return objectOf(bindings).fetch(request)
  },

  /** Starts the object if need be, whose background work then goes on by itself; throws when the ICL cannot start. */
  scheduled: async (_: unknown, bindings: WorkerBindings): Promise<void> => {
    const { status } = await objectOf(bindings).fetch(new Request('http://icl/livez'))
    if (status !== 200) throw new Error(`The ICL returns ${status}`)
  },
}
export default worker
