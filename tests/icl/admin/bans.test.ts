import { expect, it } from 'vitest'
import { noPool } from '../../../icl/admin/context.ts'
import { banNode, unbanNode } from '../../../icl/records/bans.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { codeOf } from '../../code-of.ts'
import { icl, startIcl } from '../fresh-icl.ts'
import { claim, commitTo, offersOf } from '../node-steps.ts'
import { runJob } from '../run-job.ts'
import { submit } from '../test-client.ts'
import { attestationOf, beat, joinNodes, walletOf } from '../test-icl.ts'

const attest = async (name: string) => {
  const { address, signer } = walletOf(name)
  const api = icl.api(signer)
  const { nonce } = await api.getChallenge({ params: { address } })
  const key = await signingKeyFromSeed(new Uint8Array(32).fill(4))
  const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
  return codeOf(api.verifyAttestation({ body: await attestationOf(name, nonce, key, notAfter) }))
}

it('a banned node has no part in anything until it is let in again', async () => {
  await startIcl()
  const nodes = await joinNodes(icl, 4)
  const [first] = nodes
  if (!first) throw new RangeError('There is no node')
  await banNode(icl.deps, first.address, 'it lies')
  const { nodes: active } = await icl.api().getActiveNodes({ query: { min_tier: 0 } })
  expect(active.map(({ operator_address: address }) => address)).not.toContain(first.address)
  expect(await attest('n1')).toBe('node-banned')
  const { seated } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
  expect(seated.map(({ name }) => name)).not.toContain('n1')
  await unbanNode(icl.deps, first.address)
  expect(await attest('n1')).toBeUndefined()
})

it('what a banned node was doing goes to another', async () => {
  await startIcl()
  const nodes = await joinNodes(icl, 4)
  const job = await submit(icl)
  const drawn = [job.leader, ...job.verifiers]
  const leader = nodes.find(({ address }) => address === job.leader)!
  const spare = nodes.find(({ address }) => !drawn.includes(address))!
  const claimed = await claim(leader)
  for (const verifier of nodes.filter((node) => node !== leader && node !== spare)) {
    await commitTo(verifier, await claim(verifier), 'yes')
  }
  await banNode(icl.deps, leader.address, 'it lies')
  expect(await codeOf(commitTo(leader, claimed, 'yes'))).toBe('certificate-expired')
  for (const ms of [50_000, 50_000, 22_000]) {
    await icl.clock.advance(ms)
    await beat(icl, spare)
    await offersOf(spare)
  }
  expect(await claim(spare)).toMatchObject({ jobId: job.jobId, role: 'verifier' })
})

it('a node that attests at the very moment of its ban is banned', async () => {
  const store = createMemoryStore()
  let isBanned = false
  const slow: Store = {
    ...store,
    saveAll: async (writes) => {
      const node = writes.find((write) => write.kind === 'node')?.node
      if (node && !isBanned) {
        isBanned = true
        // Another process: it does not wait for this one's turn.
        await banNode({ store, pool: noPool, clock: icl.clock }, node.address, 'it lies')
      }
      return store.saveAll(writes)
    },
  }
  await startIcl({ store: slow })
  expect(await attest('n1')).toBe('node-banned')
  expect(isBanned).toBe(true)
  expect(await store.listNodes(icl.clock.now())).toEqual([])
})
