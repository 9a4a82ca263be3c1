// What `client.infer` does, one step after the other, for programs that do something in between.

import {
  askForList,
  checkCommitment,
  checkOutput,
  chooseTerms,
  commitList,
  decryptOutput,
  encryptKey,
  expectedJob,
  fetchCheckedReceipt,
  followJob,
  nameJob,
  newPromptKey,
  sealPrompt,
  storePromptKey,
  submitJob,
  uploadBlob,
} from '../lib/client/mod.ts'
import { client } from './connect.ts'

const { context } = client
const prompt = 'Who keeps the light?'
const wish = { model: 'openai:gpt-4o-mini', minTier: 0, verifierCount: 2 }

const preparedAt = await context.chain.time()
const chosen = await chooseTerms(context, wish)

const promptKey = newPromptKey(context)
const { halves } = await encryptKey(context, promptKey)
const stored = await storePromptKey(context, halves, chosen.terms)
const list = await askForList(context, chosen, stored)
console.log(`${list.signed.body.list.join(', ')} may answer, in this order`)

const { blob, secret } = await sealPrompt(context, prompt, { promptKey, stored, list })
const promptCid = await uploadBlob(context, blob, list)
const { jobId, identity } = nameJob(context, { ...stored, promptCid })
const order = { identity, list }
await commitList(context, order)
const { read_token: readToken } = await submitJob(context, order, wish)
const view = await followJob(context, { jobId, readToken })
if (view.status !== 'accepted') throw new Error(`The job is ${view.status}: ${view.reason}`)

const expected = expectedJob(order, { wish, preparedAt })
const { receipt, hash } = await fetchCheckedReceipt(context, expected, view, readToken)
const sealed = await context.blobs.download(receipt.delivery.body.output_cid)
const answer = await decryptOutput(context, receipt, { blob: sealed, secret })
await checkOutput(answer, receipt, { prompt, secret })
await checkCommitment(context, { jobId, readToken, hash })
console.log(answer)
