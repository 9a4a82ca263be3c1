import { expect, it } from 'vitest'
import { createDependencies } from '../../../icl/start/dependencies.ts'
import { createMachine } from '../../../icl/start/machine.ts'
import { parseSettings } from '../../../icl/start/settings.ts'

const address = `0x${'a1'.repeat(20)}`
const settings = parseSettings({
  SVC_ICL_PUBLIC_URL: 'https://icl.example.org',
  SVC_ICL_SECRET: 'ab'.repeat(32),
  SVC_ICL_RPC_URL: 'http://127.0.0.1:9',
  SVC_ICL_CHAIN_ID: '31337',
  SVC_ICL_COORDINATOR_KEY: `0x${'11'.repeat(32)}`,
  SVC_ICL_NODE_REGISTRY: address,
  SVC_ICL_PROMPT_KEY_STORE: address,
  SVC_ICL_RESULT_REGISTRY: address,
  SVC_ICL_DATABASE_URL: 'memory:',
  SVC_ICL_WEBHOOKS: 'on',
})

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
