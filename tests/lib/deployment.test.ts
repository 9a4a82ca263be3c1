import { describe, expect, it } from 'vitest'
import { checkDeployed, formatDeployment, parseDeployment } from '../../lib/deployment.ts'
import type { Deployment } from '../../lib/schemas/deployment.ts'
import { anAddress } from '../branded.ts'
import { codeOf } from '../code-of.ts'

const address = (byte: string) => anAddress(`0x${byte.repeat(20)}`)
const deployment: Deployment = {
  network: 'base-sepolia',
  chain_id: 84_532,
  contracts: {
    node_registry: address('a1'),
    prompt_key_store: address('a2'),
    result_registry: address('a3'),
  },
  task_manager: address('a4'),
  block: 7,
  coprocessor: {
    cofhe_url: 'https://cofhe.example',
    verifier_url: 'https://verifier.example',
    threshold_network_url: 'https://threshold.example',
  },
}

const mistakeIn = (text: string): string => {
  try {
    parseDeployment(text, '/etc/svc/base.json')
  } catch (error) {
    return (error as Error).message
  }
  return 'no mistake'
}

describe('an address file', () => {
  it('reads as it was written, with or without a coprocessor, addresses in lower case', () => {
    expect(parseDeployment(formatDeployment(deployment))).toEqual(deployment)
    const { coprocessor: _, ...without } = deployment
    expect(parseDeployment(formatDeployment(without))).toEqual(without)
    const loud = { ...without, task_manager: address('A4') }
    expect(parseDeployment(JSON.stringify(loud)).task_manager).toBe(address('a4'))
  })

  it('is refused with every mistake and the file it is from', () => {
    expect(mistakeIn('{')).toBe('/etc/svc/base.json is no JSON')
    expect(mistakeIn(`"${'x'.repeat(70_000)}"`)).toMatch(/too long/)
    expect(mistakeIn('null')).toMatch(/base\.json is no address file/)
    const { result_registry: _, ...two } = deployment.contracts
    const wrong = { ...deployment, chain_id: '84532', contracts: two, owner: address('a5') }
    expect(mistakeIn(JSON.stringify(wrong))).toMatch(
      /chain_id: [\s\S]*contracts\.result_registry: [\s\S]*owner/,
    )
    const plain = { ...deployment.coprocessor, verifier_url: 'ftp://verifier.example' }
    expect(mistakeIn(JSON.stringify({ ...deployment, coprocessor: plain }))).toMatch(
      /coprocessor\.verifier_url: must be an http/,
    )
  })

  it('fits the ICL of its chain and contracts only', async () => {
    const { chain_id, contracts } = deployment
    checkDeployed({ chain_id, contracts }, deployment)
    const check = async (network: Parameters<typeof checkDeployed>[0]) =>
      checkDeployed(network, deployment)
    expect(await codeOf(check({ chain_id: 1, contracts }))).toBe('chain-wrong')
    for (const name of ['node_registry', 'prompt_key_store', 'result_registry'] as const) {
      const other = { chain_id, contracts: { ...contracts, [name]: address('ff') } }
      expect(await codeOf(check(other))).toBe('contracts-wrong')
      await expect(check(other)).rejects.toThrow(name)
    }
  })
})
