import { expect, it } from 'vitest'
import { createDependencies } from '../../../icl/start/dependencies.ts'
import { createMachine } from '../../../icl/start/machine.ts'
import { parseSettings } from '../../../icl/start/settings.ts'
import { sampleSettings } from '../../sample-settings.ts'

const whole = { ...sampleSettings, SVC_ICL_DATABASE_URL: 'memory:', SVC_ICL_WEBHOOKS: 'on' }
const settings = parseSettings(whole)

it('webhooks cannot be on where the host cannot judge addresses, which is said before a store is opened', async () => {
  const machine = createMachine(() => {})
  let opened = 0
  const openStore: typeof machine.openStore = (...args) => {
    opened += 1
    return machine.openStore(...args)
  }
  const start = createDependencies(settings, { ...machine, openStore, openWebhooks: undefined })
  await expect(start).rejects.toThrow('SVC_ICL_WEBHOOKS cannot be on here')
  expect(opened).toBe(0)
  const deps = await createDependencies(settings, { ...machine, openStore })
  expect([deps.webhooks?.allowPrivate, opened]).toEqual([false, 1])
  await deps.store.close()
})

it.each([
  [{ SVC_ICL_WEBHOOKS: 'off' }, 'off'],
  [{}, 'https'],
  [{ SVC_ICL_WEBHOOKS_ALLOW_PRIVATE: 'true' }, 'http'],
])('clients are told which webhooks are sent: %o', async (changes, told) => {
  const deps = await createDependencies(
    parseSettings({ ...whole, ...changes }),
    createMachine(() => {}),
  )
  expect(deps.network.webhooks).toBe(told)
  await deps.store.close()
})
