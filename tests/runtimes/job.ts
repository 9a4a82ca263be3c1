import type { z } from 'zod'
import type { Api } from '../../lib/api.ts'
import { commitList, storeOutputKey } from '../../lib/chain/key-lists.ts'
import { storeKey } from '../../lib/chain/prompt-key-store.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { utf8 } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { maskOf } from '../../lib/list.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { newSealingKey, seal, splitKey } from '../../lib/sealing.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { eventually } from '../eventually.ts'
import { check, commitTo, givenIn, reveal } from '../icl/node-steps.ts'
import {
  type Given,
  modelId,
  type Outside,
  origin,
  type TestNode,
  walletOf,
} from '../icl/test-icl.ts'
import { listKey } from '../listed-key.ts'
import type { RuntimesWorld } from './world.ts'

const patienceMs = 240_000
const waitSeconds = 10

type Account = ReturnType<typeof walletOf>['account']

/** A job that was submitted, and what reads it. */
export type SubmittedJob = {
  readonly jobId: JobId
  readonly readToken: string
  readonly api: Api
  readonly quorum: readonly TestNode[]
}

/** Makes a key and encrypts its halves, as a client or a node does. */
async function newKey(world: RuntimesWorld, account: Account) {
  const { rpcUrl, chainId, contracts } = world.chain
  const key = newSealingKey(systemRandom)
  const halves = splitKey(key)
  const coprocessor = createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock })
  const encrypted = await coprocessor.encrypt(halves.high, halves.low)
  const writer = world.writerOf(account)
  return { key, halves: { ...writer, ...encrypted, contract: contracts.promptKeyStore } }
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
      const made = await newKey(world, account as Account)
      key = made.key
      const stored = await storeKey({ ...made.halves, terms })
      return { ...stored, blockNumber: stored.block.number }
    },
  })
  if (!key) throw new Error('No key was stored')
  // No node of this test opens it.
  const blob = await seal(utf8('Is it?'), key, 'svc-test', systemRandom)
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
  const offer = await eventually(`an offer to ${node.name}`, async () => {
    const { assignments } = await node.api.getAssignments(
      { params: { address: node.address }, query: { wait: waitSeconds } },
      { timeoutMs: patienceMs },
    )
    return assignments.find((one) => one.jobId === jobId)
  })
  return node.api.claimAssignment({ body: { jobId, fence: offer.fence } })
}

/** Waits, with long-polls, until a node has something to do besides waiting. */
const nextStep = (node: TestNode, jobId: JobId) =>
  eventually(`a step for ${node.name}`, async () => {
    const own = await node.api.getAssignment(
      { params: { jobId }, query: { wait: waitSeconds } },
      { timeoutMs: patienceMs },
    )
    return own.step === 'wait' ? undefined : own
  })

/** Puts a node's answer where client and checkers can read it, and tells the ICL. */
async function deliver(
  world: RuntimesWorld,
  node: TestNode,
  checkers: readonly number[],
  { claimed, answer }: Given,
): Promise<void> {
  const { jobId, fence, activator, until, list } = claimed
  const made = await newKey(world, walletOf(node.name).account)
  const stored = await storeOutputKey({
    ...made.halves,
    promptHighHandle: claimed.kpHighHandle,
    terms: { jobId, activator, until, list },
    self: claimed.position,
    mask: maskOf(checkers),
  })
  const blob = await seal(utf8('yes'), made.key, 'svc-test', systemRandom)
  const { cid } = await node.api.putBlob({ query: { jobId, fence }, body: blob })
  const { signature: _, ...statement } = answer
  const body = await signed(
    {
      statement: 'svc-delivery-v2',
      ...{ jobId, address: node.address, fence },
      answer: await statementHash(statement),
      output_cid: cid,
      outHighHandle: stored.highHandle,
      outLowHandle: stored.lowHandle,
    },
    node.key,
  )
  await node.api.postResult({ body })
}

/** Has a node do its part of a job, until nothing is left. */
async function workAs(world: RuntimesWorld, node: TestNode, jobId: JobId): Promise<void> {
  const claimed = await claimJob(node, jobId)
  await commitTo(node, claimed, 'yes')
  for (;;) {
    const { step, checkers = [] } = await nextStep(node, jobId)
    if (step === 'reveal') await reveal(node, jobId)
    else if (step === 'deliver') await deliver(world, node, checkers, givenIn(node, jobId))
    else if (step === 'check') await check(node, jobId)
    else return
  }
}

/** Has the quorum of a job do it, all of one opinion, and waits until its result is on the chain. */
export async function workOn(world: RuntimesWorld, job: SubmittedJob): Promise<void> {
  const { jobId, readToken, api } = job
  await Promise.all(job.quorum.map((node) => workAs(world, node, jobId)))
  await eventually('the commitment', async () => {
    const view = await api.getJob({ params: { jobId } }, { readToken })
    if (['disputed', 'expired', 'cancelled'].includes(view.status)) {
      throw new Error(`The job is ${view.status}: ${view.reason}`)
    }
    return view.commit_tx
  })
}
