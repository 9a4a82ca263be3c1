import type { z } from 'zod'
import type { Api } from '../../lib/api.ts'
import { commitList } from '../../lib/chain/key-lists.ts'
import { storeKey } from '../../lib/chain/prompt-key-store.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { maskOf } from '../../lib/list.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { newSealingKey, seal, splitKey } from '../../lib/sealing.ts'
import { signResult } from '../../lib/statements.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import {
  commitTo,
  evidenceOf,
  modelId,
  type Outside,
  origin,
  type TestNode,
  walletOf,
} from '../icl/test-icl.ts'
import { listKey } from '../listed-key.ts'
import type { RuntimesWorld } from './world.ts'

const patienceMs = 60_000
const waitSeconds = 10

type Account = ReturnType<typeof walletOf>['account']

/** A job that was submitted, and what reads it. */
export type SubmittedJob = {
  readonly jobId: JobId
  readonly readToken: string
  readonly api: Api
  readonly quorum: readonly TestNode[]
}

/** Repeats a look until it finds something; throws after a minute. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const endsAt = performance.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > endsAt) throw new Error(`${what}: not within ${patienceMs / 1000} s`)
    await systemClock.sleep(50)
  }
}

/** Stores a new key on the chain, under terms or for its readers, as a client or a leader does; gives its handles. */
async function storeNewKey(
  world: RuntimesWorld,
  account: Account,
  use: { readonly terms: Hash32 } | { readonly readers: readonly Address[]; delegate: Address },
) {
  const { rpcUrl, chainId, contracts } = world.chain
  const writer = world.writerOf(account)
  const key = newSealingKey(systemRandom)
  const halves = splitKey(key)
  const coprocessor = createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock })
  const encrypted = await coprocessor.encrypt(halves.high, halves.low)
  const delegation = { maxGrants: 6, until: await inAnHour(world, account) }
  const stored = await storeKey({
    ...writer,
    ...encrypted,
    contract: contracts.promptKeyStore,
    ...('terms' in use ? use : { ...use, ...delegation }),
  })
  const { blockNumber } = await writer.publicClient.getTransactionReceipt({ hash: stored.txHash })
  return { key, blockNumber, ...stored }
}

/** Unix seconds by the chain's clock, which may be ahead of this machine's. */
async function inAnHour(world: RuntimesWorld, account: Account): Promise<number> {
  const { timestamp } = await world.writerOf(account).publicClient.getBlock()
  return Math.max(Number(timestamp), Math.floor(Date.now() / 1000)) + 3_600
}

/** Submits a job whose quorum is among the nodes, as a client does it. */
export async function submitJob(
  world: RuntimesWorld,
  outside: Outside,
  nodes: readonly TestNode[],
): Promise<SubmittedJob> {
  const { client: account, chainId, contracts } = world.chain
  const client = account.address.toLowerCase() as Address
  const signer: RequestSigner = {
    kind: 'wallet',
    address: client,
    chainId,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
  const api = outside.api(signer)
  let key: Uint8Array<ArrayBuffer> | undefined
  const listed = await listKey(api, {
    ...{ origin, modelId },
    storeKey: async (terms) => {
      const stored = await storeNewKey(world, account as Account, { terms })
      key = stored.key
      return stored
    },
  })
  if (!key) throw new Error('No key was stored')
  const blob = await seal('Is it?', key, { kind: 'prompt', client }, systemRandom)
  const { highHandle, lowHandle, list, first, positions } = listed
  const query = {
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    block_number: list.body.block.number,
  }
  const { cid } = await api.putBlob({ query, body: blob })
  const nonce = highHandle
  const until = await inAnHour(world, account as Account)
  await commitList({
    ...world.writerOf(account as Account),
    ...{ contract: contracts.promptKeyStore, highHandle, lowHandle, mask: maskOf(positions) },
    terms: {
      jobId: jobIdOf({
        ...{ chainId, client, promptCid: cid, clientNonce: nonce },
        ...{ kpHighHandle: highHandle, kpLowHandle: lowHandle },
      }),
      activator: list.body.coordinator,
      until,
      list: list.body.list,
    },
  })
  const { jobId, read_token: readToken } = await api.submitJob({
    body: {
      model_id: modelId,
      prompt_cid: cid,
      kpHighHandle: highHandle,
      kpLowHandle: lowHandle,
      list,
      until,
      client_nonce: nonce,
    },
  })
  const quorum = first.map((address) => {
    const found = nodes.find((node) => node.address === address)
    if (!found) throw new Error(`${address} is none of the nodes`)
    return found
  })
  return { jobId, readToken, api, quorum }
}

/** Waits, with long-polls, until a node is offered a job, and claims it. */
async function claimJob(node: TestNode, jobId: JobId): Promise<z.output<typeof ClaimResult>> {
  const offer = await until(`an offer to ${node.name}`, async () => {
    const { assignments } = await node.api.getAssignments(
      { params: { address: node.address }, query: { wait: waitSeconds } },
      { timeoutMs: patienceMs },
    )
    return assignments.find((one) => one.jobId === jobId)
  })
  return node.api.claimAssignment({ body: { jobId, fence: offer.fence } })
}

/** Has the quorum of a job do it, all of one opinion, and waits until its result is on the chain. */
export async function workOn(world: RuntimesWorld, job: SubmittedJob): Promise<void> {
  const { jobId, readToken, api } = job
  const [leader, ...verifiers] = job.quorum
  if (!leader) throw new Error('The job has no leader')
  const [leaderClaim, ...reveals] = await Promise.all([
    claimJob(leader, jobId),
    ...verifiers.map(async (node) => commitTo(node, await claimJob(node, jobId), 'yes')),
  ])
  const { account } = walletOf(leader.name)
  const { output_readers: readers, output_delegate: delegate } = leaderClaim
  const stored = await storeNewKey(world, account, { readers, delegate })
  const blob = await seal('yes', stored.key, { kind: 'output', jobId }, systemRandom)
  const { cid } = await leader.api.putBlob({
    query: { jobId, fence: leaderClaim.fence },
    body: blob,
  })
  const body = await signResult(
    leader.address,
    {
      jobId,
      fence: leaderClaim.fence,
      model_id: leaderClaim.model_id,
      max_output_tokens: leaderClaim.parameters.max_output_tokens,
      output_cid: cid,
      outHighHandle: stored.highHandle,
      outLowHandle: stored.lowHandle,
      evidence: await evidenceOf('yes'),
    },
    leader.key,
  )
  await leader.api.postResult({ body })
  await Promise.all(
    verifiers.map(async (node, index) => {
      await until(`the leader's statement for ${node.name}`, async () => {
        const query = { wait: waitSeconds }
        const claim = await node.api.getAssignment(
          { params: { jobId }, query },
          { timeoutMs: patienceMs },
        )
        return claim.leader_statement
      })
      const verdict = await reveals[index]?.()
      if (verdict) await node.api.postVerdict({ body: verdict })
    }),
  )
  await until('the commitment', async () => {
    const view = await api.getJob({ params: { jobId } }, { readToken })
    if (['rejected', 'disputed', 'expired', 'cancelled'].includes(view.status)) {
      throw new Error(`The job is ${view.status}: ${view.reason}`)
    }
    return view.commit_tx
  })
}
