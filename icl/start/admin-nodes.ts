import { z } from 'zod'
import { option } from '../../lib/host/program/option.ts'
import type { Command } from '../../lib/host/program/program.ts'
import { noPool } from '../admin/context.ts'
import { listAllNodes, type NodeSummary } from '../admin/nodes.ts'
import { banNode, unbanNode } from '../records/bans.ts'
import {
  type AdminTerminal,
  address,
  done,
  nothingThere,
  recorded,
  storeCommand,
} from './admin-command.ts'
import { columns, time } from './admin-text.ts'

const Reason = z.string().trim().min(1).max(500)

/** The commands about nodes. */
export const nodeCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'nodes list',
    summary: 'List every node that ever attested, and every banned address',
    prepare: () => async (context) => {
      const nodes = await listAllNodes(context)
      const now = context.clock.now()
      const rows = nodes.map((node) => rowOf(node, now))
      return {
        json: nodes.map(viewOf),
        lines: columns([
          ['address', 'state', 'backend', 'certificate', 'heartbeat', 'score', 'version'],
          ...rows,
        ]),
      }
    },
  }),
  storeCommand({
    name: 'nodes show',
    summary: 'Show all that the ICL knows of a node',
    args: { address },
    prepare:
      ({ address: wanted }) =>
      async (context) => {
        const nodes = await listAllNodes(context)
        const found = nodes.find((node) => node.address === wanted)
        if (!found)
          throw nothingThere(`No node ${wanted} has attested here`, 'List them with `nodes list`.')
        const view = viewOf(found)
        return { json: view, lines: JSON.stringify(view, null, 2).split('\n') }
      },
  }),
  storeCommand({
    name: 'ban',
    summary: 'End the certificate of a node and refuse to attest it. The node gets the reason',
    args: { address },
    options: { reason: option(Reason, 'TEXT', 'Why') },
    prepare:
      ({ address: node, reason }) =>
      (context) =>
        recorded(context, `ban ${node} --reason ${JSON.stringify(reason)}`, async () => {
          const banned = await banNode({ ...context, pool: noPool }, node, reason)
          if (banned) return done(`${node} is banned`, { address: node, reason })
          throw nothingThere(`${node} is banned already`, 'For another reason, unban it first.')
        }),
  }),
  storeCommand({
    name: 'unban',
    summary: 'Let a banned node attest again',
    args: { address },
    prepare:
      ({ address: node }) =>
      (context) =>
        recorded(context, `unban ${node}`, async () => {
          if (await unbanNode({ ...context, pool: noPool }, node)) {
            return done(`${node} may attest again`, { address: node })
          }
          throw nothingThere(`${node} is not banned`, 'List those that are with `nodes list`.')
        }),
  }),
]

const viewOf = ({ address: operator, ban, node }: NodeSummary) => ({
  address: operator,
  ban: ban && { reason: ban.reason, at: time(ban.at) },
  certificate: node && {
    id: node.certificate.id,
    backend: node.certificate.backend,
    issued_at: time(node.certificate.issuedAt),
    expires_at: time(node.certificate.expiresAt),
    session_key: node.certificate.thumbprint,
    highest_tier: node.certificate.highestTier ?? 0,
  },
  tpm: node?.enrollment && {
    ek: node.enrollment.ek,
    ak: node.enrollment.ak,
    manufacturer: node.enrollment.manufacturer,
    model: node.enrollment.model,
    resets: node.enrollment.counters?.reset,
  },
  heartbeat_at: node && time(node.heartbeatAt),
  polled_at: node && time(node.polledAt),
  version: node?.version,
  model_ids: node?.modelIds,
  withdrawn: node?.withdrawn,
  capacity: node?.capacity,
  leaving: node?.leaving,
  standing: node?.standing,
})

function rowOf({ address: operator, ban, node }: NodeSummary, now: number): readonly string[] {
  const attested = node !== undefined && node.certificate.expiresAt > now
  return [
    operator,
    ban ? 'banned' : attested ? 'attested' : 'expired',
    node?.certificate.backend ?? '-',
    time(node?.certificate.expiresAt),
    time(node?.heartbeatAt),
    node ? String(node.standing.score) : '-',
    node?.version ?? '-',
  ]
}
