import { nodeProgress } from './node-progress.ts'
import type { Run } from './run-state.ts'

const timeOf = (unixSeconds: number): string =>
  new Date(unixSeconds * 1_000).toLocaleTimeString('en-GB')

/** What each node of the quorum has done so far. */
export function NodeTable({ run: { events, inference } }: { readonly run: Run }) {
  return (
    <table class="nodes">
      <caption class="hidden">The nodes of this job</caption>
      <thead>
        <tr>
          <th scope="col">Role</th>
          <th scope="col">Node</th>
          <th scope="col">Last did</th>
          <th scope="col">At</th>
        </tr>
      </thead>
      <tbody>
        {nodeProgress(events, inference).map(
          ({ fence, node, role, status, verdict, isOver, at }) => (
            <tr key={fence} data-role={role} class={verdict ?? (isOver ? 'over' : 'under-way')}>
              <td>{role === 'leader' ? 'Leader' : 'Verifier'}</td>
              <td>
                <code title={node}>
                  {node.slice(0, 8)}…{node.slice(-4)}
                </code>
              </td>
              <td>{status}</td>
              <td class="at">{timeOf(at)}</td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  )
}
