import { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import { listCommands, recordCommand } from '../admin/audit.ts'
import { type AdminContext, noPool } from '../admin/context.ts'
import { recountNodes } from '../background/recount-nodes.ts'
import { listBans } from '../records/bans.ts'
import { prefixOf } from '../records/keys.ts'
import type { SharedStore } from '../store/mongodb/shared.ts'
import { type AdminCommand, done, recorded, typedAs, Whole } from './admin-command.ts'
import { columns, time } from './admin-text.ts'
import { restoreBackup, verifyBackup, writeBackup } from './backup-file.ts'

const FileName = z.string().min(1)
const pruneBatch = 200

/** The commands about the store as a whole. */
export const storeCommands: readonly AdminCommand[] = [
  {
    usage: 'backup <file>',
    summary: 'Write everything to a new file. The ICL may keep running',
    prepare: ([text]) => {
      const file = typedAs(FileName, text, 'A file')
      return (context) =>
        recorded(context, `backup ${file}`, async () => {
          const records = await writeBackup(context.store, file, new Date(context.clock.now()))
          return done(`${records} records are in ${file}`, { file, records })
        })
    },
  },
  {
    usage: 'restore <file> [--merge]',
    summary: 'Read a backup into an empty database, or add what is missing (--merge)',
    alone: true,
    prepare: async ([text], { merge = false }) => {
      const file = typedAs(FileName, text, 'A file')
      const records = await verifyBackup(file)
      return (context) => restore(context, { file, records }, merge)
    },
  },
  {
    usage: 'unlock',
    summary: 'Free the MongoDB of an ICL that will not come back with its file (takes 20 s)',
    onDatabase: true,
    prepare: () => async (context) => {
      const file = await (context.store as Partial<SharedStore>).unlock?.()
      // Nothing was changed, and a record could be the first in a database that is to follow a file.
      if (file === undefined) return done('No ICL has the database alone', {})
      // Not before: until then the database takes no record of it.
      return recorded(context, 'unlock', async () =>
        done(`${file} has the database no more`, { file }),
      )
    },
  },
  {
    usage: 'prune [--days N]',
    summary: 'Delete jobs that settled so many days ago (30), and expired keys and blobs',
    prepare: (_, flags) => {
      const days = typedAs(Whole(1), flags.days ?? '30', '--days')
      return (context) =>
        recorded(context, `prune --days ${days}`, async () => {
          const records = await prune(context, days)
          return done(`${records} records are forgotten`, { records })
        })
    },
  },
  {
    usage: 'stats',
    summary: 'Show how many records there are of each kind',
    prepare: () => stats,
  },
  {
    usage: 'audit [--limit N]',
    summary: 'List the commands that changed something, when, and by whom',
    prepare: (_, flags) => {
      const limit = typedAs(Whole(1), flags.limit ?? '100', '--limit')
      return async (context) => {
        const entries = await listCommands(context, limit)
        return {
          json: entries.map((entry) => ({ ...entry, at: time(entry.at) })),
          lines: columns([
            ['when', 'who', 'command'],
            ...entries.map(({ at, operator, command }) => [time(at), operator, command]),
          ]),
        }
      }
    },
  },
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
  const json = {
    jobs: jobsByPhase,
    effects,
    oldest_effect_due_at: oldestEffectDueAt === undefined ? null : time(oldestEffectDueAt),
    nodes_attested: attested.length,
    nodes_banned: (await listBans(context)).size,
    blob_bytes: {
      wallets: await store.countBlobBytes('wallet'),
      nodes: await store.countBlobBytes('node'),
      icl: await store.countBlobBytes('icl'),
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
