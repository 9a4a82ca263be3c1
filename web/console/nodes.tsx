import { useEffect, useState } from 'preact/hooks'
import type { ConsoleNode } from '../../lib/schemas/console.ts'
import { useFind } from './find.tsx'
import { count, fullTime, short, span, words } from './format.ts'
import { icl } from './icl.ts'
import { Mark } from './marks.tsx'
import { NodeDetail } from './node-detail.tsx'
import { Empty, LoadNote } from './note.tsx'
import { hrefOf, type Route } from './route.ts'
import type { Live } from './use-live.ts'
import { useLoaded } from './use-loaded.ts'
import { useNow } from './use-now.ts'

const rereadMs = 15_000
const mostPages = 10

/** All nodes with a certificate, and the detail of the open one. */
export function Nodes({ live, route }: { live: Live; route: Route }) {
  const turn = useTurns()
  const loaded = useLoaded('nodes', `${live.reloads} ${turn}`, readAll)
  const { field, sought } = useFind('address, model, reason')
  const [only, setOnly] = useState('all')
  const nodes = (loaded.value ?? []).filter(
    (node) =>
      (only === 'all' || node.active === (only === 'active')) && textOf(node).includes(sought),
  )
  const open = loaded.value?.find(({ address }) => address === route.open)
  return (
    <div class={route.open ? 'split open' : 'split'}>
      <section class="panel" aria-labelledby="nodes-title">
        <h2 id="nodes-title">
          Nodes{' '}
          <small role="status">
            {count(nodes.length)} of {count(loaded.value?.length ?? 0)}
          </small>
        </h2>
        <search class="filters">
          {field}
          <label>
            Show{' '}
            <select value={only} onChange={(event) => setOnly(event.currentTarget.value)}>
              <option value="all">all</option>
              <option value="active">active</option>
              <option value="inactive">inactive</option>
            </select>
          </label>
        </search>
        <LoadNote loaded={loaded} what="Nodes" />
        {loaded.value && <NodeTable nodes={nodes} open={route.open} />}
      </section>
      {route.open && (
        <NodeDetail
          key={route.open}
          address={route.open}
          node={open}
          isRead={loaded.value !== undefined}
        />
      )}
    </div>
  )
}

/** Triggers a reload from time to time, because the stream does not report nodes. */
function useTurns(): number {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTurn((last) => last + 1), rereadMs)
    return () => clearInterval(timer)
  }, [])
  return turn
}

async function readAll(): Promise<readonly ConsoleNode[]> {
  const nodes: ConsoleNode[] = []
  let cursor: string | null = null
  for (let page = 0; page < mostPages; page++) {
    const { nodes: found, next_cursor }: Awaited<ReturnType<typeof icl.nodes>> =
      await icl.nodes(cursor)
    nodes.push(...found)
    cursor = next_cursor
    if (cursor === null) break
  }
  return nodes
}

const textOf = ({ address, backend, model_ids, reasons }: ConsoleNode): string =>
  [address, backend, ...model_ids, ...reasons, ...reasons.map(words)].join(' ').toLowerCase()

type Column = {
  readonly name: string
  readonly isNumber?: boolean
  /** Hidden on narrow screens. */
  readonly isExtra?: boolean
  readonly by: (node: ConsoleNode) => number | string
}

const columns: readonly Column[] = [
  { name: 'Node', by: ({ address }) => address },
  { name: 'State', by: ({ active, reasons }) => (active ? '' : `~${reasons.join()}`) },
  { name: 'Backend', by: ({ backend }) => backend },
  { name: 'Tiers', by: ({ tiers }) => Math.max(-1, ...tiers) },
  { name: 'Score', isNumber: true, by: ({ score }) => score },
  { name: 'Weight', isNumber: true, isExtra: true, by: ({ weight }) => weight },
  { name: 'Accepted', isNumber: true, isExtra: true, by: ({ accepted }) => accepted },
  { name: 'Rejected', isNumber: true, isExtra: true, by: ({ rejected }) => rejected },
  { name: 'Certified', isNumber: true, by: ({ certified_at }) => -certified_at },
  { name: 'Expires', isNumber: true, by: ({ expires_at }) => expires_at },
  { name: 'Seen', isNumber: true, by: ({ last_heartbeat }) => -(last_heartbeat ?? 0) },
]

function NodeTable({ nodes, open }: { nodes: readonly ConsoleNode[]; open: string | undefined }) {
  const [order, setOrder] = useState({ name: 'Node', isDown: false })
  if (nodes.length === 0) return <Empty>No matching nodes.</Empty>
  const by = columns.find(({ name }) => name === order.name)?.by ?? (({ address }) => address)
  const sorted = nodes.toSorted((a, b) => {
    const [left, right] = [by(a), by(b)]
    const ascending = left < right ? -1 : left > right ? 1 : a.address < b.address ? -1 : 1
    return order.isDown ? -ascending : ascending
  })
  const choose = (name: string, isNumber = false) =>
    setOrder((last) => ({ name, isDown: last.name === name ? !last.isDown : isNumber }))
  return (
    <table class="list">
      <thead>
        <tr>
          {columns.map(({ name, isNumber, isExtra }) => {
            const isChosen = order.name === name
            return (
              <th
                scope="col"
                key={name}
                class={`${isNumber ? 'number' : ''}${isExtra ? ' extra' : ''}`}
                aria-sort={isChosen ? (order.isDown ? 'descending' : 'ascending') : 'none'}
              >
                <button type="button" class="sort" onClick={() => choose(name, isNumber)}>
                  {name}
                  <span aria-hidden="true">{isChosen ? (order.isDown ? '↓' : '↑') : ''}</span>
                </button>
              </th>
            )
          })}
        </tr>
      </thead>
      <tbody>
        {sorted.map((node) => (
          <NodeRow key={node.address} node={node} isOpen={node.address === open} />
        ))}
      </tbody>
    </table>
  )
}

const soonSeconds = 3_600

function NodeRow({ node, isOpen }: { node: ConsoleNode; isOpen: boolean }) {
  const now = useNow()
  const { address, active, reasons, score, last_heartbeat: seen } = node
  const left = node.expires_at - now
  return (
    <tr class={isOpen ? 'chosen' : undefined}>
      <th scope="row">
        <a href={hrefOf('nodes', address)} aria-current={isOpen ? 'true' : undefined}>
          <code>{short(address)}</code>
        </a>
      </th>
      <td>
        {active ? (
          <Mark tone="good">active</Mark>
        ) : (
          <Mark tone="bad">{words(reasons[0] ?? 'inactive')}</Mark>
        )}
        {reasons.length > 1 && <small> +{reasons.length - 1}</small>}
      </td>
      <td>{node.backend}</td>
      <td data-name="tiers">{node.tiers.join(', ') || 'none'}</td>
      <td class="number" data-name="score">
        <Score score={score} />
      </td>
      <td class="number extra" data-name="weight">
        {count(node.weight)}
      </td>
      <td class="number extra" data-name="accepted">
        {count(node.accepted)}
      </td>
      <td class="number extra" data-name="rejected">
        {count(node.rejected)}
      </td>
      <td class="number" data-name="certified">
        <time dateTime={fullTime(node.certified_at)} title={fullTime(node.certified_at)}>
          {span(now - node.certified_at)} ago
        </time>
      </td>
      <td class="number" data-name="expires">
        <time dateTime={fullTime(node.expires_at)} title={fullTime(node.expires_at)}>
          {left < soonSeconds ? <Mark tone="busy">in {span(left)}</Mark> : `in ${span(left)}`}
        </time>
      </td>
      <td class="number" data-name="seen">
        {seen === undefined ? 'never' : `${span(now - seen)} ago`}
      </td>
    </tr>
  )
}

const mostScore = 1_000

/** A score, with a meter up to the highest score. */
const Score = ({ score }: { score: number }) => (
  <>
    <svg class="meter extra" viewBox="0 0 40 4" aria-hidden="true">
      <rect class="track" width="40" height="4" rx="2" />
      <rect class="good" width={(score / mostScore) * 40} height="4" rx="2" />
    </svg>
    {count(score)}
  </>
)
