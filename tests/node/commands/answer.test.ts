import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pad, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { createViemChain } from '../../../icl/chain/viem.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { sha256Hex, utf8 } from '../../../lib/digest.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash } from '../../branded.ts'
import { startCommandWorld } from './world.ts'

const fault = (index: number): Hash32 => aHash(pad(toHex(index), { size: 32 }))

const commands = await startCommandWorld()
const { rpcUrl, chainId, contracts, coordinatorKey } = commands.world.chain
const chain = createViemChain({
  ...contracts,
  rpcUrl,
  chainId,
  account: privateKeyToAccount(coordinatorKey),
  confirmations: 1,
  clock: systemClock,
})
const node = await commands.newOperator()
await commands.fund(node.address, '3')
const registered = await node.run(['register', '--yes', '--json'])
if (registered.code !== 0) throw new Error(registered.err)
for (const index of [1, 2]) {
  await chain.proposeSlash({
    faultId: fault(index),
    operator: node.address,
    amountWei: 1_000n,
    evidenceHash: aHash(pad('0xee', { size: 32 })),
  })
}
afterAll(() => commands.stop())

describe('svc-node answer', () => {
  it('puts the SHA-256 of a text on chain, once', async () => {
    const text = 'The disk was restored from a copy.'
    const hash = await sha256Hex(utf8(text))
    const first = await node.run(['answer', fault(1), '--text', text, '--yes', '--json'])
    expect([first.code, first.err]).toEqual([0, ''])
    expect(JSON.parse(first.out)).toMatchObject({ fault_id: fault(1), answer_hash: hash })
    expect(await chain.slashOf(fault(1))).toMatchObject({ state: 'proposed', answerHash: hash })
    const again = await node.run(['answer', fault(1), '--text', text, '--yes', '--json'])
    expect([again.code, JSON.parse(again.out).transaction]).toEqual([0, null])
    const other = await node.run(['answer', fault(1), '--text', 'No.', '--yes'])
    expect([other.code, other.err]).toEqual([1, expect.stringContaining(hash)])
  })

  it('takes a file, and says where the answer itself has to go', async () => {
    const path = join(node.folder, 'answer.pdf')
    const bytes = new Uint8Array([0, 255, 10, 13])
    await writeFile(path, bytes)
    const { code, out } = await node.run(['answer', fault(2), '--file', path, '--yes'])
    expect([code, out]).toEqual([0, expect.stringContaining('to the arbiter')])
    expect(await chain.slashOf(fault(2))).toMatchObject({ answerHash: await sha256Hex(bytes) })
  })

  it('sends nothing that cannot count', async () => {
    const stranger = await commands.newOperator()
    const cases = [
      [stranger, [fault(1), '--text', 'x', '--yes'], 1, `accuses ${node.address}`],
      [node, [fault(9), '--text', 'x', '--yes'], 1, 'knows no accusation'],
      [node, ['0x12', '--text', 'x', '--yes'], 2, 'FAULT must be 0x and 64 hex digits'],
      [node, [fault(1), '--yes'], 2, '--file or a --text'],
      [node, [fault(1), '--text', 'x', '--file', 'y', '--yes'], 2, '--file or a --text'],
    ] as const
    for (const [operator, args, code, why] of cases) {
      const ended = await operator.run(['answer', ...args])
      expect([args, ended.code, ended.err]).toEqual([args, code, expect.stringContaining(why)])
    }
  })

  it('is what doctor asks for while an accusation is pending', async () => {
    const { out } = await node.run(['doctor', '--json'])
    const { checks } = JSON.parse(out) as { checks: { name: string; detail: string }[] }
    const registration = checks.find(({ name }) => name === 'registration')
    expect(registration?.detail).toBe('2 accusations against this node are pending')
  })
})
