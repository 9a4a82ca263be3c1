import { describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { createDependencies } from '../../icl/start/dependencies.ts'
import { createMachine } from '../../icl/start/machine.ts'
import { parseSettings } from '../../icl/start/settings.ts'
import { knownNetworks } from '../../lib/known-networks.ts'
import { Network } from '../../lib/schemas/network.ts'
import { sampleSettings } from '../sample-settings.ts'

/** The network that an ICL with these settings names over HTTP. */
async function networkWith(changes: Record<string, string>): Promise<Network> {
  const settings = parseSettings({
    ...sampleSettings,
    SVC_ICL_DATABASE_URL: 'memory:',
    ...changes,
  })
  const deps = await createDependencies(
    settings,
    createMachine(() => {}),
  )
  try {
    const response = await createApp(deps).fetch(new Request('https://icl.test/v1/network'), {
      peerAddress: '127.0.0.1',
    })
    return Network.parse(await response.json())
  } finally {
    await deps.store.close()
  }
}

describe('the coprocessor that an ICL tells of', () => {
  it('is the one in its settings', async () => {
    const { coprocessor } = await networkWith({ SVC_ICL_COFHE_URLS: 'http://127.0.0.1:9448/' })
    expect(new Set(Object.values(coprocessor ?? {}))).toEqual(new Set(['http://127.0.0.1:9448']))
  })

  it('is left out where none is known, and filled in on a public network', async () => {
    expect(await networkWith({})).not.toHaveProperty('coprocessor')
    const sepolia = knownNetworks.find(({ name }) => name === 'sepolia')
    const { coprocessor } = await networkWith({ SVC_ICL_CHAIN_ID: String(sepolia?.chainId) })
    expect(coprocessor).toEqual(sepolia?.coprocessor)
    expect(coprocessor).toBeDefined()
  })

  it('is refused when it is no address', async () => {
    await expect(networkWith({ SVC_ICL_COFHE_URLS: 'here' })).rejects.toThrow(/SVC_ICL_COFHE_URLS/)
  })
})

it('polls come every 5 s, or as seldom as the settings say', async () => {
  const secondsWith = async (changes: Record<string, string>) =>
    (await networkWith(changes)).limits.poll_seconds
  expect(await secondsWith({})).toBe(5)
  expect(await secondsWith({ SVC_ICL_POLL_SECONDS: '25' })).toBe(25)
  for (const wrong of ['4', '26', '5.5', 'off']) {
    await expect(secondsWith({ SVC_ICL_POLL_SECONDS: wrong })).rejects.toThrow(
      'SVC_ICL_POLL_SECONDS must be a whole number from 5 to 25',
    )
  }
})
