import { useEffect, useState } from 'preact/hooks'
import { createApi } from '../../lib/api.ts'
import { fetchNetwork } from '../../lib/fetch-network.ts'
import { ask } from '../../lib/outgoing.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { PlaygroundSettings } from '../../lib/schemas/playground.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import type { Assets } from './assets.ts'
import { mockChainId } from './chains.ts'
import type { Place } from './connect.ts'
import { FailureNote } from './failure-note.tsx'
import { Playground } from './playground.tsx'
import { failureOf } from './run-inference.ts'
import type { Failure } from './run-state.ts'

const settingsTimeoutMs = 15_000
const maxSettingsBytes = 65_536

type Loaded = { readonly place: Place; readonly models: readonly string[] }

async function fetchSettings(signal: AbortSignal): Promise<PlaygroundSettings> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(settingsTimeoutMs)])
  const asked = { signal: ended, maxBytes: maxSettingsBytes }
  const answer = await ask(systemFetch, '/playground/settings.json', asked)
  const settings = PlaygroundSettings.safeParse(parseJson(answer.bytes))
  if (answer.ok && settings.success) return settings.data
  throw new SvcError('settings-missing', `The page got no settings (status ${answer.status})`, {
    hint: 'Reload the page in a minute.',
  })
}

async function load(assets: Assets, signal: AbortSignal): Promise<Loaded> {
  const icl = location.origin
  const api = createApi({
    baseUrl: icl,
    fetch: systemFetch,
    clock: systemClock,
    random: systemRandom,
  })
  const [network, settings, { models }] = await Promise.all([
    fetchNetwork(api, icl, signal),
    fetchSettings(signal),
    api.getModels({}, { signal, attempts: 3 }),
  ])
  const served = models.filter(({ nodes }) => nodes > 0).map(({ model_id }) => model_id)
  const place = { icl, network, settings, assets }
  return { place, models: served }
}

/** The page, which first loads what it needs. */
export function App({ assets }: { readonly assets: Assets }) {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined)
  const [failure, setFailure] = useState<Failure | undefined>(undefined)
  useEffect(() => {
    const gone = new AbortController()
    load(assets, gone.signal).then(setLoaded, (error: unknown) => {
      if (!gone.signal.aborted) setFailure(failureOf(error, gone.signal))
    })
    return () => gone.abort()
  }, [assets])
  return (
    <>
      <main>
        <div class="bar">
          <h1>Playground</h1>
          <p class="motto">Confidential inference, agreed on by a quorum.</p>
          {loaded && <NetworkNote place={loaded.place} />}
        </div>
        {failure && <FailureNote failure={failure} />}
        {!(loaded || failure) && <p class="plain">Loading the network's settings…</p>}
        {loaded && <Playground place={loaded.place} models={loaded.models} />}
      </main>
      <footer>
        <p>
          Only this browser, the nodes of your quorum and the provider of their model see prompt and
          answer. This page comes from the ICL: if you do not trust its operator, use{' '}
          <code>npm run infer</code> instead. See the <a href="/docs">API reference</a>.
        </p>
      </footer>
    </>
  )
}

function NetworkNote({ place: { network } }: { readonly place: Place }) {
  const isMock = network.chain_id === mockChainId
  return (
    <p class="network">
      <span class="tag">Chain {network.chain_id}</span>
      <span class={isMock ? 'tag warn' : 'tag good'}>
        {isMock ? 'Local chain: key encryption is a mock' : 'Real encryption, with proofs'}
      </span>
    </p>
  )
}
