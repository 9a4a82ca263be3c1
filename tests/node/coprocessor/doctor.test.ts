import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CoprocessorSetting } from '../../../lib/schemas/coprocessor-urls.ts'
import type { Network } from '../../../lib/schemas/network.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import type { CommandContext } from '../../../node/commands/context.ts'
import { checkCoprocessor } from '../../../node/commands/doctor/services.ts'
import { chainId, startDouble } from '../../lib/coprocessor/coprocessor-double.ts'
import { sampleNetwork } from '../../sample-network.ts'

let double: Awaited<ReturnType<typeof startDouble>>
beforeEach(async () => {
  double = await startDouble()
})
afterEach(() => double.close())

const context = { clock: systemClock, random: systemRandom } as CommandContext
const network = (changes: Partial<Network> = {}) => sampleNetwork({ chain_id: chainId, ...changes })
const check = (urls: string | undefined, told: Partial<Network> = {}) =>
  checkCoprocessor(
    {
      cofhe_endpoint: `${double.url}/rpc`,
      cofhe_urls: urls === undefined ? undefined : CoprocessorSetting.parse(urls),
    },
    network(told),
    context,
  )

describe('the check of a coprocessor that is not the local chain', () => {
  it('is content when nobody gets what is nobody’s, whichever way it is refused', async () => {
    for (const status of [403, 404]) {
      double.answers.seal = () => ({ status, body: {} })
      expect(await check(double.url)).toMatchObject({ name: 'coprocessor', status: 'ok' })
    }
  })

  it('warns of one that decrypts everything', async () => {
    expect(await check(double.url)).toMatchObject({
      status: 'failed',
      remedy: expect.stringContaining('Do not run the node'),
    })
  })

  it('tells one that is away, and may come back', async () => {
    double.answers.seal = () => ({ status: 502, body: '' })
    expect(await check(double.url)).toMatchObject({ status: 'failed', retryable: true })
  })

  it('is not content with a server that knows nothing', async () => {
    const nothing = () => ({ status: 404, body: '<html>' })
    Object.assign(double.answers, { publicKey: nothing, crs: nothing, seal: nothing })
    expect(await check(double.url)).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('no keys of the coprocessor'),
      remedy: expect.stringContaining('SVC_COFHE_URLS'),
    })
  })

  it('takes no addresses from the ICL', async () => {
    const coprocessor = CoprocessorSetting.parse(double.url)
    expect(await check(undefined, { coprocessor })).toMatchObject({
      status: 'failed',
      retryable: false,
      remedy: expect.stringContaining('SVC_COFHE_URLS'),
    })
    expect(double.seen).toEqual([])
  })
})
