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
    const warnings: string[] = []
    const machine = vi.spyOn(Date, 'now').mockReturnValue(at)
    try {
      const clock = serviceClockOver(url, (text) => void warnings.push(text))
      const before = clock.now()
      machine.mockReturnValue(at + leapMs)
      const after = clock.now() - before
      // What passes between the two looks counts, too.
      expect(Math.abs(after - moved)).toBeLessThan(leapMs / 2)
      expect(warnings).toEqual([])
    } finally {
      machine.mockRestore()
    }
  },
)

it('over a file, each step that is taken over at once is told to the operator, with its size', () => {
  const warnings: string[] = []
  const at = Date.now()
  const machine = vi.spyOn(Date, 'now').mockReturnValue(at)
  try {
    const clock = serviceClockOver('sqlite:icl.db', (text) => {
      warnings.push(text)
      // The log reads the clock, too.
      clock.now()
    })
    for (const hours of [3, 0]) {
      machine.mockReturnValue(at + hours * 3_600_000)
      for (let looks = 0; looks < 3; looks++) clock.now()
    }
  } finally {
    machine.mockRestore()
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^the machine's clock went 10800 s ahead at once: .*\(NTP\)$/),
    expect.stringMatching(/^the machine's clock was set 10800 s back: .*\(NTP\)$/),
  ])
})
