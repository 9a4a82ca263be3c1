import { describe, expect, it } from 'vitest'
import type { Write } from '../../icl/store/store.ts'
import type { Stage } from './faults.ts'
import { simulate } from './simulate.ts'

/** A bug, and what the simulation must say of it. */
type Planted = {
  readonly bug: string
  readonly found: RegExp
  readonly plant: (stage: Stage) => void
}

const isWrite = (write: Write, status: string) =>
  write.kind === 'job' && write.job.slots.some((slot) => slot.status === status)

const planted: readonly Planted[] = [
  {
    bug: 'a store that acknowledges a save that it has not done',
    found: /although it was acknowledged/,
    plant: ({ world: { store } }) => {
      const { save } = store
      let lost = 0
      store.save = async (write, id) => {
        if (write.kind === 'blob' && lost++ === 0) return true
        return save(write, id)
      }
    },
  },
  {
    bug: 'a store that overwrites what others saved meanwhile',
    found:
      /a slot lost what it had|came back|a fence went back|although it was acknowledged|an effect was lost/,
    plant: ({ world: { store } }) => {
      const { save, findJob } = store
      store.save = async (write, id) => {
        if (write.kind !== 'job' || write.base === 0) return save(write, id)
        const found = await findJob(write.job.id)
        return save({ ...write, base: found?.version ?? 0 }, id)
      }
    },
  },
  {
    bug: 'a coprocessor that gives halves of keys to everybody who asks',
    found: /was given a half of a key without a part in its job/,
    plant: ({ ground, world }) => {
      const { coprocessor, clock, dice } = ground
      coprocessor.mayRead = () => true
      const stranger = coprocessor.of(`0x${'ee'.repeat(20)}`, clock, dice.fork('stranger'))
      const { onJob } = world.store
      world.store.onJob = (before, after) => {
        onJob(before, after)
        if (!before) stranger.decrypt(after.kpHighHandle).catch(() => {})
      }
    },
  },
  {
    bug: 'a daemon that logs a prompt above DEBUG',
    found: /the log of node \d shows a prompt/,
    plant: ({ ground: { provider } }) => {
      const { of } = provider
      provider.of = (options) => {
        const { complete } = of(options)
        return {
          complete: (completion) => {
            options.log.info(`asking ${completion.prompt}`)
            return complete(completion)
          },
        }
      }
    },
  },
  {
    bug: 'a job that nothing wakes',
    found: /nothing wakes it/,
    plant: ({ world: { store } }) => {
      const { save } = store
      store.save = (write, id) =>
        isWrite(write, 'claimed') && write.kind === 'job'
          ? save({ ...write, job: { ...write.job, wakeAt: undefined } }, id)
          : save(write, id)
    },
  },
  {
    bug: 'a tally that accepts before every verifier has answered',
    found: /was accepted (before every seat had answered|by )/,
    plant: ({ world: { store } }) => {
      const { save } = store
      store.save = (write, id) =>
        isWrite(write, 'committed') && write.kind === 'job' && write.job.phase === 'verifying'
          ? save({ ...write, job: { ...write.job, phase: 'accepted', wakeAt: undefined } }, id)
          : save(write, id)
    },
  },
]

describe('a planted bug is found', () => {
  for (const { bug, found, plant } of planted) {
    it(bug, async () => {
      const { violations } = await simulate(2, { store: 'memory', plant })
      expect(violations.join('\n')).toMatch(found)
    }, 120_000)
  }
})
