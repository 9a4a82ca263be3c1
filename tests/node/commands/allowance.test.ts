import { describe, expect, it } from 'vitest'
import { allowanceOf } from '../../../node/commands/allowance.ts'
import { parseConfig } from '../../../node/config.ts'

const registry = `0x${'11'.repeat(20)}`
const local = 'http://127.0.0.1:8080'
const remote = 'https://icl.example'

/** Returns the allowance of `run` with these settings at an ICL of this address and chain. */
const allowed = (icl: string, chainId: number, settings: object = {}) => {
  const places = { icl_endpoint: icl, cofhe_endpoint: local }
  const file = { ...places, attestation_backend: 'mock', supported_model_ids: ['openai:x'] }
  return allowanceOf(parseConfig({ ...file, ...settings }, {}, '/x.json'), chainId)
}

describe('run may pay for a registration', () => {
  it.each([
    ['nothing by default', remote, 1, {}],
    ['nothing by default on chain 31337 elsewhere', remote, 31_337, {}],
    ['nothing by default on another chain of this machine', local, 1, {}],
    ['no amount to a contract of which the ICL alone speaks', remote, 1, { register_up_to: '2' }],
    ['no amount to it on chain 31337 elsewhere', remote, 31_337, { register_up_to: '2' }],
    ['nothing where an operator allows 0', local, 31_337, { register_up_to: '0' }],
  ])('%s', (_, icl, chainId, settings) => {
    expect(allowed(icl, chainId, settings)).toBeUndefined()
  })

  it('the amount of the operator to a contract that the operator names', () => {
    const named = { register_up_to: '1.5', node_registry: registry }
    expect(allowed(remote, 1, named)).toEqual({ wei: 15n * 10n ** 17n, nodeRegistry: registry })
    const filed = { register_up_to: '1.5', deployment: '/deployment.json' }
    expect(allowed(remote, 1, filed)).toEqual({ wei: 15n * 10n ** 17n, nodeRegistry: undefined })
  })

  it('2 ether on a chain 31337 of this machine', () => {
    const wei = 2n * 10n ** 18n
    expect(allowed(local, 31_337)).toEqual({ wei, nodeRegistry: undefined })
  })
})
