import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exitCodeOf } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import { prepareDaemon, type RunningDaemon, startDaemon, startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Two daemons with one wallet, as after a node's folder was copied; real daemons, the real ICL.

/** No multiple of the polls' 5 s: a run that signs in the second in which it is superseded is not seen alive. */
const restartMs = 16_500
const jobMs = 25_000

let icl: RealIcl
let others: readonly RunningDaemon[]
let supervisors: { stop(): Promise<void> }[]
beforeEach(async () => {
  icl = await startRealIcl()
  others = await startDaemons(icl, ['b', 'c', 'd'])
  supervisors = []
})
afterEach(async () => {
  for (const supervisor of supervisors) await supervisor.stop()
  for (const daemon of others) await daemon.stop()
  await icl.stop()
})

/** Starts a machine's daemon of wallet `a`, which answers in its own words, and again 16.5 s after it ended where `restarts` wants it. */
function supervise(answer: string, restarts: (exitCode: number) => boolean) {
  const ends: unknown[] = []
  const lines: string[] = []
  let current: RunningDaemon | undefined
  let isOver = false
  let journal: RunningDaemon['journal'] | undefined
  const run = async () => {
    for (;;) {
      const daemon = await prepareDaemon(icl, 'a')
      journal ??= daemon.journal
      daemon.faults.provider = async () =>
        Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: answer } }] })
      current = startDaemon(icl, { ...daemon, deps: { ...daemon.deps, journal } }, 0)
      const error = await current.running.then(
        () => undefined,
        (why: unknown) => why,
      )
      current = undefined
      lines.push(...daemon.lines)
      if (isOver || error === undefined) return
      ends.push(error instanceof ProblemError ? error.code : error)
      if (!restarts(exitCodeOf(error))) return
      await icl.clock.sleep(restartMs)
      if (isOver) return
    }
  }
  const ended = run()
  const supervisor = {
    ends,
    lines,
    isUp: () => current !== undefined,
    signed: () =>
      journal?.steps.flatMap((step) =>
        step.step === 'answer' ? [`${step.jobId} ${step.fence}`] : [],
      ) ?? [],
    stop: async () => {
      isOver = true
      current?.askToStop()
      await icl.clock.until(ended)
    },
  }
  supervisors.push(supervisor)
  return supervisor
}

/** Five jobs one after the other; how each ended. */
async function fiveJobs() {
  const ends: string[] = []
  for (let job = 0; job < 5; job++) {
    const asked = await icl.ask(`Two and two, for the ${job}. time?`)
    await icl.clock.advance(jobMs)
    ends.push((await icl.clock.until(asked.view())).status)
  }
  return ends
}

async function nobodyIsSlashed() {
  const { address } = await prepareDaemon(icl, 'a')
  const asked = icl.client.getNodeFaults({ params: { address }, query: {} })
  expect((await icl.clock.until(asked)).faults).toEqual([])
  expect(icl.chain.proposals).toEqual([])
}

describe('two daemons with one wallet', () => {
  it('under supervisors that always restart them: no slash, and both stop with the message', async () => {
    const first = supervise('Four.', () => true)
    await icl.clock.advance(30_000)
    const second = supervise('It is 4, I would say.', () => true)
    expect(await fiveJobs()).not.toContain('running')
    await nobodyIsSlashed()
    // One that asks late hears of the conflict at once.
    expect([...first.ends, ...second.ends]).toContain('run-superseded')
    for (const { ends, lines } of [first, second]) {
      expect(ends.at(-1)).toBe('run-conflict')
      expect(lines.join('\n')).toMatch(
        /\[ERROR\] .*Daemon ended: .*Two daemons with this wallet supersede one another.*Stop all but one/,
      )
    }
    // From the conflict on each start ends at once.
    for (const { ends } of [first, second])
      expect(ends.slice(ends.indexOf('run-conflict'))).not.toContain('run-superseded')
  })

  it('under supervisors that heed the exit code: the newer one goes on', async () => {
    const heeds = (exitCode: number) => exitCode !== 1
    const first = supervise('Four.', heeds)
    await icl.clock.advance(30_000)
    const second = supervise('It is 4, I would say.', heeds)
    expect(await fiveJobs()).not.toContain('running')
    await nobodyIsSlashed()
    expect([first.ends, second.ends]).toEqual([['run-superseded'], []])
    expect([first.isUp(), second.isUp()]).toEqual([false, true])
    expect(second.signed()).not.toEqual([])
  })
})
