import type { Clock } from '../../lib/clock.ts'
import type { TestIcl } from '../icl/test-icl.ts'
import { inCallOrder } from '../virtual-clock.ts'
import type { Dice } from './dice.ts'
import { type Message, requestOf, responseOf } from './messages.ts'

type Fetch = (request: Request) => Promise<Response>

/** A request that a replica answered, whether or not the answer arrived. */
export type Exchange = {
  readonly caller: string
  readonly replica: string
  readonly method: string
  readonly path: string
  /** When the request came to the replica, in milliseconds. */
  readonly arrivedAt: number
  readonly sent: Message
  readonly answer: Message & { readonly status: number }
}

/** How good the network is. */
type Conditions = {
  /** How likely a request, and how likely its answer, is lost. */
  loss: number
  /** How likely a request arrives once more, later. */
  duplicates: number
  /** How likely a request or an answer takes seconds, so that others overtake it. */
  delays: number
  /** Whether a caller cannot reach a replica. */
  isCut: (caller: string, replica: string) => boolean
}

/** Replicas behind something that spreads requests over them; some requests and some answers get lost. Streams of events do not get through. */
export type SimulatedNetwork = Conditions & {
  readonly replicas: Map<string, TestIcl>
  readonly fetch: Fetch
  /** How one caller reaches the replicas. */
  from(caller: string, dice: Dice): Fetch
  /** Hears of every answer as it leaves a replica. */
  onExchange: (exchange: Exchange) => void
  /** Hears of everything that the network does not do as it should. */
  onTrouble: (kind: 'lost' | 'delayed' | 'duplicated') => void
}

const lost = () => new TypeError('fetch failed: the connection was closed')
const longestDelayMs = 8_000
const longestDuplicateMs = 400_000

/** Makes a network with nobody in it. */
export function createNetwork(clock: Clock, dice: Dice): SimulatedNetwork {
  const replicas = new Map<string, TestIcl>()
  const from = (caller: string, own: Dice): Fetch => {
    const send = sender(network, clock, caller, own)
    const travel = async (signal: AbortSignal) => {
      const isLate = network.delays > 0 && own.chance(network.delays)
      if (isLate) network.onTrouble('delayed')
      await clock.sleep(own.between(1, 20) + (isLate ? own.between(1, longestDelayMs) : 0), signal)
    }
    const mayLose = () => {
      if (!own.chance(network.loss)) return
      network.onTrouble('lost')
      throw lost()
    }
    return async (request) => {
      const { signal, url, method, headers } = request
      const body = new Uint8Array(await inCallOrder(() => request.arrayBuffer()))
      await travel(signal)
      const reached = [...replicas.keys()].filter((id) => !network.isCut(caller, id))
      if (reached.length === 0) throw lost()
      mayLose()
      if (new URL(url).pathname.endsWith('/events')) throw lost()
      const answer = await send({ url, method, headers, body }, own.pick(reached), signal)
      await travel(signal)
      mayLose()
      return responseOf(answer)
    }
  }
  const network: SimulatedNetwork = {
    replicas,
    loss: 0,
    duplicates: 0,
    delays: 0,
    isCut: () => false,
    onExchange: () => {},
    onTrouble: () => {},
    from,
    fetch: (request) => from('somebody', dice)(request),
  }
  return network
}

/** Hands requests to replicas, some of them once more later on. */
function sender(network: SimulatedNetwork, clock: Clock, caller: string, dice: Dice) {
  type Sent = Message & { readonly url: string; readonly method: string }
  const hand = async (sent: Sent, replica: string, signal: AbortSignal) => {
    const target = network.replicas.get(replica)
    if (!target) throw lost()
    const arrivedAt = clock.now()
    const response = await target.fetch(requestOf(sent, signal))
    const body = new Uint8Array(await inCallOrder(() => response.arrayBuffer()))
    const answer = { status: response.status, headers: response.headers, body }
    const { method, url } = sent
    const path = new URL(url).pathname
    network.onExchange({ caller, replica, method, path, arrivedAt, sent, answer })
    return answer
  }
  const again = async (sent: Sent, replica: string) => {
    await clock.sleep(
      dice.chance(0.5) ? dice.between(1, 5_000) : dice.between(1, longestDuplicateMs),
    )
    await hand(sent, replica, new AbortController().signal)
  }
  return async (sent: Sent, replica: string, signal: AbortSignal) => {
    if (network.duplicates > 0 && dice.chance(network.duplicates)) {
      network.onTrouble('duplicated')
      again(sent, replica).catch(() => {})
    }
    // A process that goes away is missed a little later.
    const gone = new AbortController()
    const onAbort = () => void clock.sleep(5).then(() => gone.abort())
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await hand(sent, replica, gone.signal)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}
