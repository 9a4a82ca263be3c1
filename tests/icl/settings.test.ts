import { describe, expect, it } from 'vitest'
import { describeSettings, parseSettings, Settings } from '../../icl/start/settings.ts'
import type { SvcError } from '../../lib/svc-error.ts'

const address = `0x${'A1'.repeat(20)}`
const good = {
  SVC_ICL_PUBLIC_URL: 'https://icl.example.org',
  SVC_ICL_SECRET: 'ab'.repeat(32),
  SVC_ICL_RPC_URL: 'http://127.0.0.1:8545',
  SVC_ICL_CHAIN_ID: '31337',
  SVC_ICL_COORDINATOR_KEY: `0x${'11'.repeat(32)}`,
  SVC_ICL_NODE_REGISTRY: address,
  SVC_ICL_PROMPT_KEY_STORE: address,
  SVC_ICL_RESULT_REGISTRY: address,
}

const mistakesIn = (environment: Record<string, string>): string => {
  try {
    parseSettings(environment)
    return ''
  } catch (error) {
    return (error as SvcError).message
  }
}

describe('the settings of the ICL', () => {
  it('have defaults for all that is not particular to a deployment', () => {
    const settings = parseSettings({ ...good, UNRELATED: 'x', SVC_ICL_PORT: '' })
    expect(settings).toMatchObject({
      SVC_ICL_PORT: 8080,
      SVC_ICL_DATABASE_URL: 'memory:',
      SVC_ICL_NODE_REGISTRY: address.toLowerCase(),
    })
    expect(settings.SVC_ICL_MOCK_ATTESTATION_KEY).toBeUndefined()
    expect(settings.SVC_ICL_SECRET).toHaveLength(32)
  })

  it('are refused with every mistake at once, by name, and without their values', () => {
    const text = mistakesIn({
      ...good,
      SVC_ICL_SECRET: 'too-short-secret',
      SVC_ICL_COORDINATOR_KEY: 'not-a-key',
      SVC_ICL_PORT: '70000',
      SVC_ICL_PUBLIC_URL: 'https://icl.example.org/path',
      SVC_ICL_CHAIN_ID: '',
    })
    for (const name of [
      'SVC_ICL_SECRET',
      'SVC_ICL_COORDINATOR_KEY',
      'SVC_ICL_PORT',
      'SVC_ICL_PUBLIC_URL',
      'SVC_ICL_CHAIN_ID is missing',
    ]) {
      expect(text).toContain(name)
    }
    expect(text).not.toContain('too-short-secret')
    expect(text).not.toContain('not-a-key')
  })

  it('are all listed for --help', () => {
    const help = describeSettings()
    for (const name of Object.keys(Settings.shape)) expect(help).toContain(name)
    expect(help).toContain('default: 8080')
    expect(help).toContain('required')
  })
})
