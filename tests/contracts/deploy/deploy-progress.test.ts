import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openProgress, type SentContract } from '../../../contracts/deploy-progress.ts'
import { aHash, anAddress } from '../../branded.ts'
import { codeOf } from '../../code-of.ts'
import { fileFolder } from '../../test-folder.ts'

const folder = fileFolder()

const somebody = anAddress(`0x${'a1'.repeat(20)}`)
const open = async (name: string) => {
  const terms = { coordinator: somebody, arbiter: somebody, treasury: somebody, minStake: 1n }
  return openProgress(join(folder, name), 1, somebody, terms)
}
const sent = (contract: SentContract['contract'], nonce: number): SentContract => ({
  contract,
  address: somebody,
  nonce,
  tx: aHash(`0x${String(nonce).padStart(64, '0')}`),
})

it('a run does not overwrite what another one has written meanwhile', async () => {
  const [one, other] = [await open('shared.json'), await open('shared.json')]
  await one.record(sent('NodeRegistry', 1))
  expect(await codeOf(other.record(sent('NodeRegistry', 2)))).toBe('deployment-unfinished')
  await one.record(sent('PromptKeyStore', 3))
  const left = await open('shared.json')
  expect([...left.sent.values()].map(({ nonce }) => nonce)).toEqual([1, 3])
})

it('a new NodeRegistry ends what PromptKeyStore was written for the old one', async () => {
  const first = await open('renewed.json')
  for (const [index, contract] of (['NodeRegistry', 'PromptKeyStore'] as const).entries()) {
    await first.record(sent(contract, index + 1))
  }
  await first.record(sent('NodeRegistry', 7))
  expect([...(await open('renewed.json')).sent.keys()]).toEqual(['NodeRegistry'])
})
