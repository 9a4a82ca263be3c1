import { describe, expect, it } from 'vitest'
import { BlobLocation, KuboAuthorization } from '../../../icl/start/blob-location.ts'

describe('where blobs go', () => {
  it('is chosen at the start, the store, or a Kubo with or without its gateway', () => {
    expect(['auto', 'store'].map((text) => BlobLocation.parse(text))).toEqual(['auto', 'store'])
    expect(BlobLocation.parse('kubo:http://127.0.0.1:5001/')).toEqual({
      rpcUrl: 'http://127.0.0.1:5001',
      gatewayUrl: undefined,
    })
    expect(BlobLocation.parse('kubo:https://rpc.example/ipfs,http://127.0.0.1:8080')).toEqual({
      rpcUrl: 'https://rpc.example/ipfs',
      gatewayUrl: 'http://127.0.0.1:8080',
    })
  })

  for (const text of [
    'kubo',
    'kubo:',
    'kubo:127.0.0.1:5001',
    'kubo:ftp://a',
    'kubo:http://a,',
    'kubo:http://a,http://b,http://c',
    'kubo:http://user:password@a',
    'kubo:http://a?arg=x',
    'kubo:http://localhost:5001,http://localhost:8080',
    'ipfs',
  ]) {
    it(`is never ${text}`, () => {
      const parsed = BlobLocation.safeParse(text)
      expect(parsed.success).toBe(false)
      expect(String(parsed.error)).not.toContain('user:password')
    })
  }

  it('may ask for a secret of two words', () => {
    expect(KuboAuthorization.safeParse('Bearer abc').success).toBe(true)
    expect(KuboAuthorization.safeParse('Bearer abc\nx: y').success).toBe(false)
    expect(KuboAuthorization.safeParse('abc').success).toBe(false)
  })
})
