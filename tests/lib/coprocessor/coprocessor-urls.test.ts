import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import { coprocessorUrlsOf } from '../../../lib/coprocessor/coprocessor-urls.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { CoprocessorSetting } from '../../../lib/schemas/coprocessor-urls.ts'
import { systemClock } from '../../../lib/system.ts'

const sepolia = 11_155_111
const all = (url: string) => ({ cofhe_url: url, verifier_url: url, threshold_network_url: url })

describe('the addresses of a coprocessor', () => {
  it('are those that were configured, else those that are known for the chain', () => {
    const own = all('https://own.example')
    expect(coprocessorUrlsOf(sepolia, own)).toEqual(own)
    expect(coprocessorUrlsOf(sepolia, undefined).verifier_url).toMatch(/^https:\/\/.*vrf/)
  })

  it('are missed by name on a chain that is not known', () => {
    for (const chainId of [localFheChainId, 1]) {
      expect(() => coprocessorUrlsOf(chainId, undefined)).toThrow(
        expect.objectContaining({
          code: 'coprocessor-urls-unknown',
          hint: expect.stringContaining('cofhe_urls (SVC_COFHE_URLS)'),
        }),
      )
      const account = privateKeyToAccount(generatePrivateKey())
      const options = { rpcUrl: 'http://127.0.0.1:1', chainId, account, clock: systemClock }
      expect(() => createCofheCoprocessor(options)).toThrow(/not known where the coprocessor/)
    }
  })

  it('are https unless they are on this machine', () => {
    for (const url of ['http://127.0.0.1:9448', 'http://localhost:1', 'http://[::1]:1']) {
      expect(coprocessorUrlsOf(1, all(url))).toEqual(all(url))
    }
    for (const url of ['http://cofhe.example', 'http://10.0.0.1', 'http://127.0.0.1.example']) {
      const urls = { ...all('https://cofhe.example'), threshold_network_url: url }
      expect(() => coprocessorUrlsOf(sepolia, urls)).toThrow(
        expect.objectContaining({ code: 'coprocessor-not-https' }),
      )
    }
  })

  it('are those of this machine where the coprocessor takes keys in plain text', () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const options = { chainId: 31_337, account, clock: systemClock }
    for (const rpcUrl of ['https://rpc.example/access-key', 'http://127.0.0.1.example']) {
      expect(() => createCofheCoprocessor({ ...options, rpcUrl })).toThrow(
        expect.objectContaining({
          code: 'chain-not-local',
          message: expect.not.stringContaining('access-key'),
        }),
      )
    }
    createCofheCoprocessor({ ...options, rpcUrl: 'http://localhost:1' })
  })

  it('are written as one, as three with commas, or as an object', () => {
    expect(CoprocessorSetting.parse('https://a.example/')).toEqual(all('https://a.example'))
    const three = {
      cofhe_url: 'https://a.example',
      verifier_url: 'https://b.example',
      threshold_network_url: 'https://c.example',
    }
    expect(CoprocessorSetting.parse(Object.values(three).join(', '))).toEqual(three)
    expect(CoprocessorSetting.parse(three)).toEqual(three)
    for (const wrong of [
      'a',
      'https://a,https://b',
      '',
      5,
      { cofhe_url: 'https://a' },
      'ftp://a',
    ]) {
      expect(CoprocessorSetting.safeParse(wrong).success).toBe(false)
    }
  })
})
