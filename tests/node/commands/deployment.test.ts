import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { formatDeployment } from '../../../lib/deployment.ts'
import type { Deployment } from '../../../lib/schemas/deployment.ts'
import { anAddress } from '../../branded.ts'
import { startCommandWorld } from './world.ts'

const world = await startCommandWorld()
const operator = await world.newOperator()
const { deployment } = world.world.chain
afterAll(() => world.stop())

const write = async (name: string, changed: Partial<Deployment> = {}) => {
  const file = join(operator.folder, name)
  await writeFile(file, formatDeployment({ ...deployment, ...changed }))
  return file
}

describe('an address file in the configuration of a node', () => {
  it('is kept by init, and lets the node work with the ICL of that deployment', async () => {
    await write('right.json')
    const made = await operator.run(['init', '--force', '--yes', '--scrypt-n', '4096'], {
      SVC_DEPLOYMENT: 'right.json',
    })
    expect([made.code, made.err]).toEqual([0, expect.any(String)])
    await world.fund(operator.address, '3')
    const attested = await operator.run(['attest', '--mock'])
    expect([attested.code, attested.err]).toEqual([0, expect.any(String)])
  })

  it('stops every command that would use an ICL of other contracts or another chain', async () => {
    const other = anAddress(`0x${'ee'.repeat(20)}`)
    const contracts = { ...deployment.contracts, node_registry: other }
    const moved = { SVC_DEPLOYMENT: await write('moved.json', { contracts }) }
    for (const command of [['run'], ['attest', '--mock'], ['register', '--yes']]) {
      const { code, err } = await operator.run(command, moved)
      expect([command, code, err]).toEqual([command, 1, expect.stringContaining(other)])
      expect(err).toContain(deployment.contracts.node_registry)
    }
    const elsewhere = { SVC_DEPLOYMENT: await write('elsewhere.json', { chain_id: 84_532 }) }
    const { code, err } = await operator.run(['run'], elsewhere)
    expect([code, err]).toEqual([1, expect.stringContaining('chain 84532')])
    const doctor = await operator.run(['doctor'], moved)
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringContaining(other)])
  })

  it('has to be readable', async () => {
    const missing = await operator.run(['run'], { SVC_DEPLOYMENT: 'nowhere.json' })
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('nowhere.json')])
    const file = join(operator.folder, 'broken.json')
    await writeFile(file, '{}')
    const broken = await operator.run(['run'], { SVC_DEPLOYMENT: file })
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('contracts')])
  })
})
