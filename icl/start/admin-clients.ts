import type { Address } from '../../lib/codecs.ts'
import { flag } from '../../lib/host/program/option.ts'
import type { Command } from '../../lib/host/program/program.ts'
import { type ClientData, eraseClientData, findClientData } from '../admin/client-data.ts'
import type { AdminContext } from '../admin/context.ts'
import {
  type AdminTerminal,
  address,
  nothingThere,
  recorded,
  storeCommand,
} from './admin-command.ts'
import { columns } from './admin-text.ts'

/** The commands about clients. */
export const clientCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'clients erase',
    summary: 'Show what is kept of a client, and erase it (--yes)',
    args: { address },
    options: { yes: flag('Erase it') },
    prepare: (given) => async (context) => {
      const data = await findKnown(context, given.address)
      if (!given.yes) return shown(data)
      const typed = `clients erase ${given.address} --yes`
      return recorded(context, typed, () => erase(context, data))
    },
  }),
]

async function findKnown(context: AdminContext, address: Address): Promise<ClientData> {
  const data = await findClientData(context, address)
  const jobs = data.over.length + data.open.length + data.unreadable
  if (jobs > 0 || data.isKnown) return data
  throw nothingThere(
    `Nothing is kept of the client ${address}`,
    'Copy its address from a receipt or from its wallet.',
  )
}

const later = 'stay: repeat this when they have settled and `effects list` is empty'

function keptRows(data: ClientData): readonly (readonly string[])[] {
  const rows = [
    ['jobs that run or have effects to deliver', data.open.length, later],
    [
      'jobs that cannot be read',
      data.unreadable,
      'stay: `prune` deletes them 30 days after they settled',
    ],
    ['blobs that other jobs name, too', data.sharedBlobs.length, 'stay with these jobs'],
  ] as const
  return rows.filter(([, count]) => count > 0).map((row) => row.map(String))
}

const whatStays = [
  'Not erased:',
  '  chain: address, key handles, lists and receipt hashes, which nobody can delete',
  '  reputation events: signed, with the ids of jobs, and the address of a client of more than a week. Scores are recomputed from them',
  '  audit: that this address was erased',
  '  names of requests and of jobs of a day, with the address: until midnight UTC at the latest',
  '  backups and logs: delete them, or repeat this after a restore',
  '  receipts at the client, histories of nodes, what the provider keeps',
]

function shown(data: ClientData) {
  const { address, over, blobs, isKnown } = data
  const isLast = data.open.length === 0 && data.unreadable === 0
  const rows = [
    ['settled jobs, with webhooks and evidence', String(over.length), 'would be erased'],
    ['sealed prompts and answers', String(blobs.length), 'would be erased'],
    [
      'time of the first accepted job',
      isKnown ? '1' : '0',
      isLast ? 'would be erased' : 'stays for now',
    ],
    ...keptRows(data),
  ]
  return {
    json: jsonOf(data, { erased: false, jobs: over.length, blobs: blobs.length }),
    lines: [
      ...columns(rows),
      ...whatStays,
      `Nothing is erased yet. Do it with: admin clients erase ${address} --yes`,
      'It cannot be undone, and ends the time to dispute these jobs.',
    ],
  }
}

async function erase(context: AdminContext, data: ClientData) {
  const { jobs, blobs, client } = await eraseClientData(context, data)
  const record = client ? ' and its record' : ''
  return {
    json: jsonOf(data, { erased: true, jobs, blobs }),
    lines: [
      `${jobs} jobs, ${blobs} sealed prompts and answers${record} of ${data.address} are erased`,
      ...columns(keptRows(data)),
      ...whatStays,
    ],
  }
}

const jsonOf = (
  { address, open, unreadable, sharedBlobs }: ClientData,
  outcome: { readonly erased: boolean; readonly jobs: number; readonly blobs: number },
) => ({
  address,
  ...outcome,
  open_jobs: open,
  unreadable_jobs: unreadable,
  shared_blobs: sharedBlobs.length,
})
