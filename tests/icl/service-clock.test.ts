import { expect, it, vi } from 'vitest'
import { serviceClockOver } from '../../icl/start/steady-clock.ts'

const leapMs = 300_000

it.each([
  ['sqlite:icl.db', 0],
  ['memory:', 0],
  // Replicas have only their machines' clocks in common.
  ['mongodb://127.0.0.1/svc', leapMs],
  ['mongodb+srv://127.0.0.1/svc', leapMs],
])(
  'over %s, a clock that is set 5 minutes ahead moves the time of the ICL by %i ms',
  (url, moved) => {
    const at = Date.now()
    const machine = vi.spyOn(Date, 'now').mockReturnValue(at)
    try {
      const clock = serviceClockOver(url)
      const before = clock.now()
      machine.mockReturnValue(at + leapMs)
      const after = clock.now() - before
      // What passes between the two looks counts, too.
      expect(Math.abs(after - moved)).toBeLessThan(leapMs / 2)
    } finally {
      machine.mockRestore()
    }
  },
)
