import { type Clock, monotonicMs } from '../../lib/clock.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runNode } from '../../node/commands/run.ts'

// `svc-node run` with a clock that jumps: each SIGUSR2 moves it on by 61 s, as after a sleep of the machine.
const jumpMs = 61_000
let jumpedMs = 0
let jump = new AbortController()
process.on('SIGUSR2', () => {
  jumpedMs += jumpMs
  const before = jump
  jump = new AbortController()
  before.abort()
})

const clock: Clock = {
  now: () => systemClock.now() + jumpedMs,
  monotonic: () => monotonicMs(performance.now() + jumpedMs),
  async sleep(ms, signal) {
    const until = clock.now() + ms
    while (clock.now() < until) {
      signal?.throwIfAborted()
      const signals = signal === undefined ? [jump.signal] : [jump.signal, signal]
      await systemClock.sleep(until - clock.now(), AbortSignal.any(signals)).catch(() => {})
    }
    signal?.throwIfAborted()
  },
}

await runNode(
  {},
  {
    environment: process.env,
    terminal: { input: process.stdin, output: process.stderr },
    fetch: (request) => fetch(request),
    clock,
    random: systemRandom,
    print: (line) => void process.stdout.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`${line}\n`),
  },
)
process.exit(0)
