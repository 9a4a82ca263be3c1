import { z } from 'zod'
import { flag, option } from '../../lib/host/program/option.ts'
import type { Command } from '../../lib/host/program/program.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import { listCommands, recordCommand } from '../admin/audit.ts'
import { type AdminContext, noPool } from '../admin/context.ts'
import { recountNodes } from '../background/recount-nodes.ts'
import { listBans } from '../records/bans.ts'
import { prefixOf } from '../records/keys.ts'
import type { SharedStore } from '../store/mongodb/shared.ts'
import type { Uploader } from '../store/store.ts'
import { type AdminTerminal, Count, done, recorded, storeCommand } from './admin-command.ts'
import { columns, time } from './admin-text.ts'
import { restoreBackup, verifyBackup, writeBackup } from './backup-file.ts'

const file = option(z.string().min(1), 'FILE')
const pruneBatch = 200

/** The commands about the store as a whole. */
export const storeCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'backup',
    summary: 'Write everything to a new file. The ICL may keep running',
    args: { file },
    prepare:
      ({ file }) =>
      (context) =>
        recorded(context, `backup ${file}`, async () => {
          const records = await writeBackup(context.store, file, new Date(context.clock.now()))
          return done(`${records} records are in ${file}`, { file, records })
        }),
  }),
  storeCommand({
    name: 'restore',
    summary: 'Read a backup into an empty database, or add what is missing (--merge)',
    args: { file },
    options: { merge: flag('Add what is missing') },
    notes: 'The ICL has to be stopped.',
    isAlone: true,
    prepare: async ({ file, merge }) => {
      const records = await verifyBackup(file)
      return (context) => restore(context, { file, records }, merge)
    },
  }),
  storeCommand({
    name: 'unlock',
    summary: 'Free the MongoDB of an ICL that will not come back with its file (takes 20 s)',
    isOnDatabase: true,
    prepare: () => async (context) => {
      const file = await (context.store as Partial<SharedStore>).unlock?.()
      // Nothing was changed, and a record could be the first in a database that is to follow a file.
      if (file === undefined) return done('No ICL has the database alone', {})
      // Not before: until then the database takes no record of it.
      return recorded(context, 'unlock', async () =>
        done(`${file} has the database no more`, { file }),
      )
    },
  }),
  storeCommand({
    name: 'prune',
    summary: 'Delete jobs that settled long ago, and expired keys and blobs',
    options: { days: option(Count.default(30), 'N', 'How many days ago') },
    prepare:
      ({ days }) =>
      (context) =>
        recorded(context, `prune --days ${days}`, async () => {
          const records = await prune(context, days)
          return done(`${records} records are forgotten`, { records })
        }),
  }),
  storeCommand({
    name: 'stats',
    summary: 'Show how many records there are of each kind',
    prepare: () => stats,
  }),
  storeCommand({
    name: 'audit',
    summary: 'List the commands that changed something, when, and by whom',
    options: { limit: option(Count.default(100), 'N', 'List so many') },
    prepare:
      ({ limit }) =>
      async (context) => {
        const entries = await listCommands(context, limit)
        return {
          json: entries.map((entry) => ({ ...entry, at: time(entry.at) })),
          lines: columns([
            ['when', 'who', 'command'],
            ...entries.map(({ at, operator, command }) => [time(at), operator, command]),
          ]),
        }
      },
  }),
]

async function restore(
  context: AdminContext,
  { file, records }: { readonly file: string; readonly records: number },
  merge: boolean,
) {
  const { store, clock } = context
  const [running] = await store.listKeys(prefixOf('replica'), clock.now())
  if (store.shared && running) {
    throw new SvcError('store-in-use', `An ICL (${running.key}) uses the database`, {
      hint: 'Stop it. One that was killed is forgotten after five minutes.',
    })
  }
  if (!merge && !(await isEmpty(context))) {
    throw new SvcError('store-not-empty', 'The database is not empty', {
      hint: 'Use an empty one, or --merge to add what is missing. Existing records stay as they are.',
    })
  }
  await recordCommand(context, `restore ${file}${merge ? ' --merge' : ''}`)
  const { restored, leftOut } = await restoreBackup(store, file)
  if (merge) await recountNodes({ ...context, pool: noPool })
  return {
    json: { records, restored, left_out: leftOut },
    lines: [
      `${restored} of ${records} records are restored${leftOut > 0 ? `; ${leftOut} were there already` : ''}`,
      'Repeat the bans, revocations, withdrawals of keys and erasures since the backup: it does not have them.',
    ],
  }
}

async function isEmpty({ store }: AdminContext): Promise<boolean> {
  for await (const _ of store.scan()) return false
  return true
}

async function prune({ store, clock }: AdminContext, days: number): Promise<number> {
  const now = clock.now()
  const options = { now, settledBefore: now - days * dayMs, limit: pruneBatch }
  for (let records = 0; ; ) {
    const batch = await store.prune(options)
    if (batch === 0) return records
    records += batch
  }
}

async function stats(context: AdminContext) {
  const { store, clock } = context
  const { jobsByPhase, effects, oldestEffectDueAt } = await store.stats()
  const attested = await store.listNodes(clock.now())
  const blobBytes = async (uploader: Uploader) =>
    (await store.countBlobBytes(uploader)) + (await store.countBlobBytes(`kubo-${uploader}`))
  const json = {
    jobs: jobsByPhase,
    effects,
    oldest_effect_due_at: oldestEffectDueAt === undefined ? null : time(oldestEffectDueAt),
    nodes_attested: attested.length,
    nodes_banned: (await listBans(context)).size,
    blob_bytes: {
      wallets: await blobBytes('wallet'),
      nodes: await blobBytes('node'),
      icl: await blobBytes('icl'),
    },
  }
  const jobs = Object.entries(jobsByPhase).map(([phase, count]) => [`jobs ${phase}`, String(count)])
  const rows = [
    ...jobs,
    ['effects not delivered', String(effects)],
    ['oldest effect due', time(oldestEffectDueAt)],
    ['nodes attested', String(json.nodes_attested)],
    ['nodes banned', String(json.nodes_banned)],
    ['blob bytes of wallets', String(json.blob_bytes.wallets)],
    ['blob bytes of nodes', String(json.blob_bytes.nodes)],
    ['blob bytes of pool snapshots', String(json.blob_bytes.icl)],
  ]
  return { json, lines: columns(rows) }
}
