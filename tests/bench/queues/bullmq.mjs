// A job of a quorum as a flow of BullMQ: a parent with three children. 19 changes of state: 4 jobs added, claimed and completed, and
// 7 texts recorded (a commitment and an answer of each child, and the parent's delivery), each as large as the ICL's.
import { FlowProducer, Worker } from 'bullmq'
import { serveRounds } from './rounds.mjs'

const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null }
const prompt = { text: 'p'.repeat(1_500) }
const opts = { removeOnComplete: 1_000 }
const flows = new FlowProducer({ connection })
const waiting = new Map()
let last = 0

const answer = async (job) => {
  await job.updateProgress({ commitment: 'c'.repeat(64) })
  await job.updateProgress({ answer: 'a'.repeat(400) })
  return { ok: true }
}
const deliver = async (job) => {
  await job.getChildrenValues()
  await job.updateProgress({ delivery: 'd'.repeat(600) })
  return { receipt: 'r'.repeat(3_000) }
}
new Worker('answers', answer, { connection, concurrency: 180 })
new Worker('jobs', deliver, { connection, concurrency: 60 }).on('completed', ({ id }) => {
  waiting.get(id)?.()
  waiting.delete(id)
})

await serveRounds(async () => {
  const jobId = `job-${++last}`
  const ended = new Promise((resolve) => waiting.set(jobId, resolve))
  const child = { name: 'answer', queueName: 'answers', data: prompt, opts }
  await flows.add({
    ...{ name: 'job', queueName: 'jobs', data: prompt, opts: { ...opts, jobId } },
    children: [child, child, child],
  })
  await ended
})
