import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock } from '../../lib/system.ts'
import { createApp } from '../app.ts'
import { runWorkers } from '../background/workers.ts'
import { crossOrigin } from '../http/cross-origin.ts'
import type { ObjectState } from '../store/sqlite/object.ts'
import { createDependencies } from './dependencies.ts'
import type { ReadText } from './deployment-settings.ts'
import { openEdgeStore } from './edge-store.ts'
import type { Host } from './host.ts'
import type { Served } from './listening.ts'
import { createJsonLog } from './log.ts'
import { parseSettings, Settings, setIn, settingsWarnings } from './settings.ts'

const retrySeconds = 5

/** The bindings of a worker. Texts are settings, and the files that settings name. */
export type Bindings = Readonly<Record<string, unknown>>

/** Starts the ICL in the object that holds it. Throws SvcError for unusable settings or an unusable store. */
async function start(
  bindings: Bindings,
  write: Host['write'],
  object: ObjectState,
): Promise<Served> {
  const texts = textsOf(bindings)
  const readText: ReadText = (name) => {
    const text = texts[name]
    if (text === undefined) throw new Error(`there is no text binding with the name ${name}`)
    return text
  }
  const settings = parseSettings(texts, readText)
  const deps = await createDependencies(settings, {
    write,
    readText,
    openStore: (given, log) => openEdgeStore(given, log, object),
    localKubo: undefined,
    openWebhooks: undefined,
  })
  for (const warning of settingsWarnings(settings, texts)) deps.log.warn(warning)
  // An edge host ends its objects without notice, so there is nothing to drain.
  void runWorkers(deps, new AbortController().signal)
  deps.log.info('ICL started', {
    publicUrl: deps.network.public_url,
    attestation: deps.network.attestation_backends.join(', ') || 'none',
    durable: deps.store.durable,
  })
  if (!deps.store.durable) {
    deps.log.warn('The store is in memory: it is gone when the host ends this object')
  }
  return createApp(deps)
}

const textsOf = (bindings: Bindings): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(bindings).flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' ? [[name, value]] : [],
    ),
  )

/** An ICL that starts with its first request. When it cannot start, requests get 503, the log says why, and a start is tried every 5 s. */
export function createEdgeIcl(bindings: Bindings, write: Host['write'], object: ObjectState) {
  let starting: Promise<Served> | undefined
  let failedAt: MonotonicMs | undefined
  const startOnce = (): Promise<Served> => {
    const rests = failedAt === undefined || elapsedSince(clock, failedAt) < retrySeconds * 1000
    if (starting && rests) return starting
    failedAt = undefined
    starting = start(bindings, write, object)
    starting.catch((error: unknown) => {
      failedAt = clock.monotonic()
      const known = error instanceof SvcError
      createJsonLog(clock, 'error', write).error('The ICL cannot start', {
        reason: known ? error.message : String(error),
        hint: known ? error.hint : undefined,
      })
    })
    return starting
  }
  return async (request: Request): Promise<Response> => {
    let app: Served
    try {
      app = await startOnce()
    } catch {
      const { preflight, share } = crossOrigin(
        originsOf(bindings),
        new URL(request.url).pathname,
        request,
      )
      const response = preflight ?? unavailable()
      share(response)
      return response
    }
    return app.fetch(request, {})
  }
}

/** The setting for pages of other origins, also when others are unusable. */
const originsOf = (bindings: Bindings) =>
  Settings.shape.SVC_ICL_ALLOW_ORIGINS.safeParse(setIn(textsOf(bindings)).SVC_ICL_ALLOW_ORIGINS)
    .data ?? []

const unavailable = (): Response =>
  problemAnswer(new ProblemError('unavailable', 'The ICL cannot start. Its log says why'), {
    'retry-after': String(retrySeconds),
  })

/** A problem+json response outside the application. */
export const problemAnswer = (
  problem: ProblemError,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  new Response(JSON.stringify(problem.toProblem('')), {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...headers,
    },
  })
