import { span } from './format.ts'
import { hasToken, setToken } from './icl.ts'
import { Jobs } from './jobs.tsx'
import type { Liveness } from './live.ts'
import { Mark, type Tone } from './marks.tsx'
import { Nodes } from './nodes.tsx'
import { Overview } from './overview.tsx'
import { OwnJob } from './own-job.tsx'
import { hrefOf, type Route, useRoute, type View } from './route.ts'
import { type Live, useLive } from './use-live.ts'
import { Now, useTicking } from './use-now.ts'

const names: readonly (readonly [View, string])[] = [
  ['overview', 'Overview'],
  ['nodes', 'Nodes'],
  ['jobs', 'Jobs'],
  ['own', 'Your job'],
]

/** The console: a live view of the service. */
export function App() {
  const live = useLive()
  const route = useRoute()
  const now = useTicking(live.overview?.at)
  return (
    <Now.Provider value={now}>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <section class="top" aria-label="The console and its state">
        <h1>Console{live.overview && <small>{live.overview.version}</small>}</h1>
        <nav aria-label="Views">
          {names.map(([view, name]) => (
            <a
              key={view}
              href={hrefOf(view)}
              aria-current={view === route.view ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <Status live={live} now={now} />
      </section>
      <main id="content" tabIndex={-1}>
        {live.liveness === 'locked' ? (
          <TokenForm onToken={live.restart} />
        ) : live.liveness === 'absent' ? (
          <p class="note">The operator of this ICL shows no console.</p>
        ) : (
          <Content live={live} route={route} />
        )}
      </main>
    </Now.Provider>
  )
}

/** A link cannot do it, since the part of the URL after # is the route. */
const skip = (): void => document.querySelector<HTMLElement>('#content')?.focus()

function Content({ live, route }: { live: Live; route: Route }) {
  switch (route.view) {
    case 'overview':
      return <Overview live={live} />
    case 'nodes':
      return <Nodes live={live} route={route} />
    case 'jobs':
      return <Jobs live={live} route={route} />
    case 'own':
      return <OwnJob />
  }
}

const states: Readonly<Record<Liveness, readonly [Tone, string]>> = {
  connecting: ['busy', 'connecting'],
  live: ['good', 'live'],
  reconnecting: ['busy', 'reconnecting'],
  locked: ['quiet', 'not shown'],
  absent: ['quiet', 'not shown'],
}
const staleSeconds = 30

function Status({ live: { liveness, overview, error }, now }: { live: Live; now: number }) {
  const age = overview ? now - overview.at : 0
  const isStale = liveness === 'reconnecting' && age > staleSeconds
  const [tone, text] = isStale ? (['bad', 'stale'] as const) : states[liveness]
  return (
    <p class="status">
      <span role="status" title={error}>
        <Mark tone={tone}>{text}</Mark>
      </span>
      {isStale && <small>as of {span(age)} ago</small>}
    </p>
  )
}

function TokenForm({ onToken }: { onToken: () => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    setToken(String(fields.get('token')).trim())
    onToken()
  }
  return (
    <section class="panel narrow" aria-labelledby="token-title">
      <h2 id="token-title">The operator's token</h2>
      <p class="note">This console asks for the ICL's token for metrics. It is not kept.</p>
      <form onSubmit={submit}>
        <label>
          Token
          <input name="token" type="password" required autocomplete="off" />
        </label>
        <button type="submit">Show the console</button>
      </form>
      {hasToken() && (
        <p class="note bad" role="alert">
          The ICL refuses this token. It is SVC_ICL_METRICS_TOKEN of its settings.
        </p>
      )}
    </section>
  )
}
