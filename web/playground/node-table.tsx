import { type NodePart, nodeProgress } from './node-progress.ts'
import type { Run } from './run-state.ts'

const timeOf = (unixSeconds: number): string =>
  new Date(unixSeconds * 1_000).toLocaleTimeString('en-GB')

const shortly = (node: string): string => `${node.slice(0, 8)}…${node.slice(-4)}`

const partWords: Readonly<Record<NodePart, string>> = {
  seated: 'Seated',
  deliverer: 'Deliverer',
  member: 'Member',
  differs: 'Differs',
}

/** Shows the progress of each node, and which nodes of the list were passed over. */
export function NodeTable({ run: { events, inference } }: { readonly run: Run }) {
  const list = inference?.status === 'accepted' ? inference.receipt.list : undefined
  const passed = list?.passed.map(
    ({ position, reason }) =>
      `${shortly(list.members[position] ?? '')} (${reason.replaceAll('-', ' ')})`,
  )
  return (
    <>
      <table class="nodes">
        <caption class="unseen">The nodes of this job</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Node</th>
            <th scope="col">Last did</th>
            <th scope="col">At</th>
          </tr>
        </thead>
        <tbody>
          {nodeProgress(events, inference).map(
            ({ fence, node, part, joined, status, failedTurn, verdict, isOver, at }) => (
              <tr key={fence} data-part={part} class={verdict ?? (isOver ? 'over' : 'under-way')}>
                <td>
                  {partWords[part]}
                  {joined && <small> joined</small>}
                </td>
                <td>
                  <code title={node}>{shortly(node)}</code>
                </td>
                <td>
                  {status}
                  {failedTurn && <small class="turn">{failedTurn}</small>}
                </td>
                <td class="at">{timeOf(at)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {passed && passed.length > 0 && <p class="fine">Passed over: {passed.join(', ')}</p>}
    </>
  )
}
