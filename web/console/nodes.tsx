import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsoleNode } from '../../lib/schemas/console.ts'
import { useFind } from './find.tsx'
import { count, short, span, tiersText, words } from './format.ts'
import { icl } from './icl.ts'
import { Mark, NodeMark } from './marks.tsx'
import { NodeDetail } from './node-detail.tsx'
import { Ago, Empty, LoadNote, Time } from './note.tsx'
import { hrefOf, type Route } from './route.ts'
import type { Live } from './use-live.ts'
import { useLoaded } from './use-loaded.ts'
import { useNow } from './use-now.ts'
import type { Page } from './use-pages.ts'

const rereadMs = 15_000
const mostPages = 10

/** All nodes with a certificate, and the detail of the open one. */
export function Nodes({ live, route }: { live: Live; route: Route }) {
  const turn = useTurns()
  const loaded = useLoaded('nodes', `${live.reloads} ${turn}`, readAll)
  const { field, sought } = useFind('address, model, reason')
  const [only, setOnly] = useState('all')
  const { all = [], isWhole = false } = loaded.value ?? {}
  const nodes = all.filter(
    (node) =>
      (only === 'all' || node.active === (only === 'active')) && textOf(node).includes(sought),
  )
  const open = all.find(({ address }) => address === route.open)
  return (
    <div class={route.open ? 'split open' : 'split'}>
      <section class="panel" aria-labelledby="nodes-title">
        <h2 id="nodes-title">
          Nodes{' '}
          <small role="status">
            {count(nodes.length)} of {count(all.length)}
            {loaded.value && !isWhole && ', and more that are not listed'}
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
        <NodeDetail key={route.open} address={route.open} node={open} isRead={isWhole} />
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

/** Reads the first nodes, and whether these are all. */
async function readAll() {
  const all: ConsoleNode[] = []
  let cursor: string | null = null
  for (let page = 0; page < mostPages; page++) {
    const { items, next }: Page<ConsoleNode> = await icl.nodes(cursor)
    all.push(...items)
    cursor = next
    if (cursor === null) break
  }
  return { all, isWhole: cursor === null }
}

const textOf = ({ address, backend, model_ids, reasons }: ConsoleNode): string =>
  [address, backend, ...model_ids, ...reasons, ...reasons.map(words)].join(' ').toLowerCase()

/** A column's name; the class of its cells, which with one show the name on narrow screens; and what it is sorted by. */
type Column = readonly [
  name: string,
  kind: 'named' | 'number' | 'number extra' | undefined,
  by: (node: ConsoleNode) => number | string,
  cell?: (node: ConsoleNode) => ComponentChildren,
]

const columns: readonly Column[] = [
  ['Node', undefined, ({ address }) => address],
  ['State', undefined, ({ active, reasons }) => (active ? '' : `~${reasons.join()}`), stateOf],
  ['Backend', undefined, ({ backend }) => backend],
  ['Tiers', 'named', ({ tiers }) => Math.max(-1, ...tiers), tiersText],
  ['Score', 'number', ({ score }) => score, ({ score }) => <Score score={score} />],
  ['Weight', 'number extra', ({ weight }) => weight],
  ['Accepted', 'number extra', ({ accepted }) => accepted],
  ['Rejected', 'number extra', ({ rejected }) => rejected],
  ['Certified', 'number', (node) => -node.certified_at, (node) => <Ago at={node.certified_at} />],
  ['Expires', 'number', (node) => node.expires_at, (node) => <Expiry at={node.expires_at} />],
  ['Seen', 'number', (node) => -(node.last_heartbeat ?? 0), seenOf],
]

function NodeTable({ nodes, open }: { nodes: readonly ConsoleNode[]; open: string | undefined }) {
  const [order, setOrder] = useState({ name: 'Node', isDown: false })
  if (nodes.length === 0) return <Empty>No matching nodes.</Empty>
  const by = columns.find(([name]) => name === order.name)?.[2] ?? (({ address }) => address)
  const sorted = nodes.toSorted((a, b) => {
    const [left, right] = [by(a), by(b)]
    const ascending = left < right ? -1 : left > right ? 1 : a.address < b.address ? -1 : 1
    return order.isDown ? -ascending : ascending
  })
  const choose = (name: string, kind = '') =>
    setOrder((last) => ({
      name,
      isDown: last.name === name ? !last.isDown : kind.startsWith('number'),
    }))
  return (
    <table class="list">
      <thead>
        <tr>
          {columns.map(([name, kind]) => {
            const isChosen = order.name === name
            return (
              <th
                scope="col"
                key={name}
                class={kind}
                aria-sort={isChosen ? (order.isDown ? 'descending' : 'ascending') : 'none'}
              >
                <button type="button" class="sort" onClick={() => choose(name, kind)}>
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

function NodeRow({ node, isOpen }: { node: ConsoleNode; isOpen: boolean }) {
  return (
    <tr class={isOpen ? 'chosen' : undefined}>
      <th scope="row">
        <a href={hrefOf('nodes', node.address)} aria-current={isOpen ? 'true' : undefined}>
          <code>{short(node.address)}</code>
        </a>
      </th>
      {columns.slice(1).map(([name, kind, by, cell]) => (
        <td class={kind} key={name} data-name={kind && name.toLowerCase()}>
          {cell ? cell(node) : textIn(by(node))}
        </td>
      ))}
    </tr>
  )
}

const textIn = (value: number | string) => (typeof value === 'number' ? count(value) : value)

function stateOf({ active, reasons }: ConsoleNode) {
  return (
    <>
      <NodeMark active={active}>{words(reasons[0] ?? 'inactive')}</NodeMark>
      {reasons.length > 1 && <small> +{reasons.length - 1}</small>}
    </>
  )
}

function seenOf({ last_heartbeat: at }: ConsoleNode) {
  return at === undefined ? 'never' : <Ago at={at} />
}

const soonSeconds = 3_600

function Expiry({ at }: { at: number }) {
  const left = at - useNow()
  const text = `in ${span(left)}`
  return <Time at={at}>{left < soonSeconds ? <Mark tone="busy">{text}</Mark> : text}</Time>
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
