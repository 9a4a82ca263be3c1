import { afterEach, beforeEach, expect, it } from 'vitest'
import { stuckJobError } from '../../lib/client/inference.ts'
import { offerWhenReached } from '../../node/commands/offer-when-reached.ts'
import { offerModels } from '../../node/inference/models.ts'
import { providersOf } from '../../node/inference/providers.ts'
import { modelId } from '../icl/test-icl.ts'
import { prepareDaemon, type RunningDaemon, startDaemon, startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Three real daemons and the real ICL on a virtual clock. The daemons are offered a job and start again without the key of its provider.

let icl: RealIcl
let daemons: readonly RunningDaemon[]
beforeEach(async () => {
  icl = await startRealIcl()
  daemons = await startDaemons(icl, ['a', 'b', 'c'])
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  await icl.stop()
})

it('a job whose provider has no key any more fails with a provider error, which its client hears', async () => {
  for (const { faults } of daemons) faults.icl = async ({ url }) => quietAnswer(url)
  // The poll that the ICL holds ends.
  await icl.clock.advance(25_000)
  const asked = await icl.ask('Two and two?')
  await Promise.all(daemons.map(({ stop }) => stop()))
  daemons = await Promise.all(daemons.map(startWithoutKey))
  await icl.clock.advance(10_000)
  const view = await icl.clock.until(asked.view())
  expect(view.quorum.map(({ reason }) => reason)).toContain('provider-key-missing')
  expect(stuckJobError(view)).toMatchObject({
    code: 'provider-key-missing',
    message: expect.stringContaining('the node has no API key for the provider of openai:test'),
    hint: 'Node operator: set the API key of openai, and restart the node.',
  })
  for (const { lines } of daemons) {
    expect(lines.join('\n')).toMatch(
      /\[ERROR\] .*aborted: provider openai was not asked: OPENAI_API_KEY is not set\. Set OPENAI_API_KEY, and restart/,
    )
  }
})

/** Answers a node that gets no work and tells the ICL nothing. */
const quietAnswer = (url: string) =>
  Response.json(
    url.includes('/assignments/')
      ? { assignments: [] }
      : { status: 'ok', certificate_expires_at: 2 ** 32, eligible: true, reasons: [] },
  )

/** Starts the node again, with the journal of its last run. */
async function startWithoutKey({ name, journal }: RunningDaemon) {
  const { deps, ...again } = await prepareDaemon(icl, name)
  const { log, clock } = deps
  const config = { supported_model_ids: [modelId], providers: {} }
  const made = await offerModels(config, {}, clock, log)
  const { signal: stop } = new AbortController()
  const found = { ...made, log, providers: providersOf([modelId], config), stop }
  const offered = await offerWhenReached(found, { environment: {}, fetch: icl.travel, clock })
  return startDaemon(icl, { ...again, deps: { ...deps, ...offered, journal } }, 0)
}
