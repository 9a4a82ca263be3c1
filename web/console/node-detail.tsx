import { countedTexts } from '../../lib/counted-events.ts'
import type { ConsoleNode } from '../../lib/schemas/console.ts'
import { shareText, weightMovesText } from '../../lib/weight-moves.ts'
import { Detail } from './detail.tsx'
import { count, fullTime, short, span, tiersText, words } from './format.ts'
import { icl } from './icl.ts'
import { NodeMark } from './marks.tsx'
import { Empty, Fact, LoadNote } from './note.tsx'
import { hrefOf } from './route.ts'
import { Table } from './table.tsx'
import { useLoaded } from './use-loaded.ts'
import { useNow } from './use-now.ts'
import { usePages } from './use-pages.ts'

type Props = {
  readonly address: string
  readonly node: ConsoleNode | undefined
  /** True when all nodes have been read. */
  readonly isRead: boolean
}

/** Shows a node: its certificate, its standing, and the events behind it. */
export function NodeDetail({ address, node, isRead }: Props) {
  return (
    <Detail kind="Node" name={address} back={hrefOf('nodes')}>
      {node && <Facts node={node} />}
      {!node && isRead && <Empty>It has no certificate now.</Empty>}
      <h3>Reputation events</h3>
      <Events address={address} turn={node && `${node.score} ${node.completed}`} />
    </Detail>
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
        <NodeMark active={node.active}>{node.reasons.map(words).join(', ')}</NodeMark>
      </Fact>
      <Fact name="Attested by">{node.backend}</Fact>
      <Fact name="Tiers">{tiersText(node)}</Fact>
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

function Events({ address, turn }: { address: string; turn: string | undefined }) {
  const now = useNow()
  const { items, loaded, more, isMore } = usePages(`events ${address}`, turn, (cursor) =>
    icl.nodeEvents(address, cursor),
  )
  const byId = new Map(items.map(({ body }) => [body.id, body]))
  const counted = countedTexts([...byId.values()], !isMore)
  return (
    <>
      <LoadNote loaded={loaded} what="Events" />
      {loaded.value && byId.size === 0 && <Empty>No reputation events yet.</Empty>}
      {byId.size > 0 && !isMore && <p>Weight {weightMovesText([...byId.values()], now * 1000)}.</p>}
      {byId.size > 0 && (
        <Table headings={['What', 'Counted', 'Job', 'When']}>
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
        </Table>
      )}
      {isMore && (
        <button type="button" onClick={more}>
          Show older events
        </button>
      )}
    </>
  )
}
