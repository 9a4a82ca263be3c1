// A job of a quorum on pg-boss: three tasks, and the job's document in a table of its own. 17 changes of state: 3 tasks sent, fetched and
// completed, a document inserted, and 7 conditional updates of it, each as large as the ICL's.
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { serveRounds } from './rounds.mjs'

const connectionString = `postgres://${process.argv[3]}@127.0.0.1:${process.argv[2]}/postgres`
const boss = new PgBoss({ connectionString, max: 20 })
boss.on('error', (error) => process.stderr.write(`${error}\n`))
await boss.start()
await boss.createQueue('tasks')
const pool = new pg.Pool({ connectionString, max: 20 })
await pool.query(
  'CREATE TABLE jobs (id text PRIMARY KEY, version int NOT NULL, document jsonb NOT NULL)',
)
const update =
  'UPDATE jobs SET version = version + 1, document = document || $2 WHERE id = $1 AND version = $3'
const prompt = { text: 'p'.repeat(1_500) }
const ofAll = (letter, length) => [1, 2, 3].map(() => letter.repeat(length))
const changes = [
  { claims: ofAll('n', 42) },
  { commitments: ofAll('c', 64) },
  { answers: ofAll('a', 400) },
  { delivery: 'd'.repeat(600) },
  { first: 'v'.repeat(500) },
  { second: 'v'.repeat(500) },
  { receipt: 'r'.repeat(3_000), phase: 'accepted' },
].map((change) => JSON.stringify(change))
let last = 0

await serveRounds(async () => {
  const id = `job-${++last}`
  await pool.query('INSERT INTO jobs VALUES ($1, 0, $2)', [id, JSON.stringify(prompt)])
  const send = () => boss.send('tasks', { id, ...prompt })
  await Promise.all([send(), send(), send()])
  const fetch = () => boss.fetch('tasks')
  const tasks = (await Promise.all([fetch(), fetch(), fetch()])).flat()
  for (const [version, change] of changes.entries()) {
    const { rowCount } = await pool.query(update, [id, change, version])
    if (rowCount !== 1) throw new Error('Another process changed the job')
  }
  await Promise.all(tasks.map((task) => boss.complete('tasks', task.id, { ok: true })))
})
