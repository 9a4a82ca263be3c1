import { ProblemError } from '../../lib/problem.ts'
import { checkHost } from '../http/request-form.ts'
import type { ObjectState } from '../store/sqlite/object.ts'
import { type Bindings, createEdgeIcl, problemAnswer } from './edge-icl.ts'

const awakeMs = 20_000

type State = ObjectState & { readonly storage: { setAlarm(at: number): Promise<void> } }

type Namespace = {
  idFromName(name: string): unknown
  get(id: unknown): { fetch(request: Request): Promise<Response> }
}

type WorkerBindings = Bindings & { readonly ICL: Namespace }

/** The one object that holds the ICL, so that one request can wake another. The host requires a class. */
export class Icl {
  readonly #state: State
  readonly #answer: ReturnType<typeof createEdgeIcl>
  #alarmAt = 0

  constructor(state: State, bindings: Bindings) {
    this.#state = state
    this.#answer = createEdgeIcl(bindings, (line) => console.log(line.trimEnd()), state)
  }

  async fetch(request: Request): Promise<Response> {
    await this.#stayAwake()
    return this.#answer(request)
  }

  /** Makes the host restart the object after it has ended it, so that due work is done without a request. */
  async alarm(): Promise<void> {
    this.#alarmAt = 0
    await this.#stayAwake()
    await this.#answer(new Request('http://icl/livez'))
  }

  async #stayAwake(): Promise<void> {
    const now = Date.now()
    if (now < this.#alarmAt) return
    this.#alarmAt = now + awakeMs
    await this.#state.storage.setAlarm(this.#alarmAt)
  }
}

const objectOf = ({ ICL }: WorkerBindings) => ICL.get(ICL.idFromName('icl'))

/** The edge host's entry point. Requests and the host's cron reach the same object. */
const worker = {
  fetch: async (request: Request, bindings: WorkerBindings): Promise<Response> => {
    // The host cannot forward a request with an unreadable URL: it would answer 500 and log an error of the worker.
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

  /** Starts the object if it is not running. Its background work then goes on by itself. Throws when the ICL cannot start. */
  scheduled: async (_: unknown, bindings: WorkerBindings): Promise<void> => {
    const { status } = await objectOf(bindings).fetch(new Request('http://icl/livez'))
    if (status !== 200) throw new Error(`The ICL returns ${status}`)
  },
}
export default worker
