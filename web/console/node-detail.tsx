import { useEffect, useState } from 'preact/hooks'
import { countedTexts } from '../../lib/counted-events.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { ConsoleNode } from '../../lib/schemas/console.ts'
import { shareText, weightMovesText } from '../../lib/weight-moves.ts'
import { count, fullTime, short, span, words } from './format.ts'
import { icl } from './icl.ts'
import { Mark } from './marks.tsx'
import { Empty, Fact, LoadNote } from './note.tsx'
import { hrefOf } from './route.ts'
import { useFocus } from './use-focus.ts'
import { useLoaded } from './use-loaded.ts'
import { useNow } from './use-now.ts'

type Props = {
  readonly address: string
  readonly node: ConsoleNode | undefined
  /** True when the list of nodes has been read. */
  readonly isRead: boolean
}

/** Shows a node: its certificate, its standing, and the events behind it. */
export function NodeDetail({ address, node, isRead }: Props) {
  const title = useFocus<HTMLHeadingElement>()
  return (
    <section class="panel detail" aria-labelledby="node-title">
      <a class="close" href={hrefOf('nodes')}>
        Close
      </a>
      <h2 id="node-title" tabIndex={-1} ref={title}>
        Node <code>{short(address)}</code>
      </h2>
      {node && <Facts node={node} />}
      {!node && isRead && <Empty>It has no certificate now.</Empty>}
      <h3>Reputation events</h3>
      <Events address={address} turn={node && `${node.score} ${node.completed}`} />
    </section>
  )
}

function Facts({ node }: { node: ConsoleNode }) {
  const now = useNow()
  const { address, weight } = node
  const record = useLoaded(`record ${address}`, `${weight} ${node.active}`, () => icl.node(address))
  const draw = record.value?.draw
  return (
    <dl class="facts">
      <Fact name="Address">
        <code>{node.address}</code>
      </Fact>
      <Fact name="State">
        {node.active ? (
          <Mark tone="good">active</Mark>
        ) : (
          <Mark tone="bad">{node.reasons.map(words).join(', ')}</Mark>
        )}
      </Fact>
      <Fact name="Attested by">{node.backend}</Fact>
      <Fact name="Tiers">{node.tiers.join(', ') || 'none'}</Fact>
      <Fact name="Models">{node.model_ids.join(', ')}</Fact>
      <Fact name="Certificate">
        {span(now - node.certified_at)} old, until {fullTime(node.expires_at)}
      </Fact>
      <Fact name="Seen">
        {node.last_heartbeat === undefined ? 'never' : `${span(now - node.last_heartbeat)} ago`}
      </Fact>
      <Fact name="Version">{node.version}</Fact>
      <Fact name="Score">
        {count(node.score)}, drawn with weight {count(weight)}
      </Fact>
      <Fact name="Share of draws">{draw && node.active && shareText(draw)}</Fact>
      <Fact name="Assignments">
        {count(node.completed)} completed, {count(node.accepted)} accepted, {count(node.rejected)}{' '}
        rejected
      </Fact>
      <Fact name="Slashed">{node.slashed_gwei > 0 && `${count(node.slashed_gwei)} gwei`}</Fact>
    </dl>
  )
}

type Page = Awaited<ReturnType<typeof icl.nodeEvents>>

function Events({ address, turn }: { address: string; turn: string | undefined }) {
  const now = useNow()
  const [older, setOlder] = useState<Page | undefined>(undefined)
  const [error, setError] = useState<string | undefined>(undefined)
  const loaded = useLoaded(`events ${address}`, turn, () => icl.nodeEvents(address, null))
  // Older pages continue the first page as it was, so they are dropped with it.
  useEffect(() => setOlder(undefined), [turn])
  const first = loaded.value
  const byId = new Map(
    [...(first?.events ?? []), ...(older?.events ?? [])].map(({ body }) => [body.id, body]),
  )
  const cursor = older ? older.next_cursor : (first?.next_cursor ?? null)
  const counted = countedTexts([...byId.values()], cursor === null)
  const more = () => {
    icl.nodeEvents(address, cursor).then(
      (page) => {
        setError(undefined)
        setOlder({ ...page, events: [...(older?.events ?? []), ...page.events] })
      },
      (reason: unknown) => setError(errorMessage(reason)),
    )
  }
  return (
    <>
      <LoadNote loaded={error === undefined ? loaded : { error }} what="Events" />
      {first && byId.size === 0 && <Empty>No reputation events yet.</Empty>}
      {byId.size > 0 && cursor === null && (
        <p>Weight {weightMovesText([...byId.values()], now * 1000)}.</p>
      )}
      {byId.size > 0 && (
        <table class="list">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Counted</th>
              <th scope="col">Job</th>
              <th scope="col">When</th>
            </tr>
          </thead>
          <tbody>
            {[...byId.values()].map(({ id, code, jobId, at }) => (
              <tr key={id}>
                <th scope="row">{words(code)}</th>
                <td>{counted.get(id)}</td>
                <td>
                  <a href={hrefOf('jobs', jobId)}>
                    <code>{short(jobId)}</code>
                  </a>
                </td>
                <td class="soft">{fullTime(at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor !== null && (
        <button type="button" onClick={more}>
          Show older events
        </button>
      )}
    </>
  )
}
