import type { ConsoleJobDetail } from '../../lib/schemas/console.ts'
import type { AttestedNumbers } from '../../lib/schemas/teacher.ts'
import { NodeLink } from './agreement.tsx'
import { ofNumbers, Table } from './table.tsx'

type Column = readonly [name: string, cellOf: (numbers: AttestedNumbers) => string | number]

const columns: readonly Column[] = [
  ['likeliest', ({ agree, n }) => `${agree} of ${n}`],
  ['gap', ({ gap, n }) => Math.floor(gap / n)],
  ['worst quarter', ({ worst }) => worst],
  ['far', ({ far }) => far],
  ['apart', ({ apart = '?' }) => apart],
]

/** Shows how likely the delivered text is under two other nodes' models, if the job asked for it. */
export function AttestedTable({ detail: { assignments } }: { detail: ConsoleJobDetail }) {
  const rows = assignments.flatMap(({ node, attested }) =>
    node && attested ? [{ node, ...attested }] : [],
  )
  if (rows.length === 0) return null
  return (
    <>
      <h3>Text under the model</h3>
      <p class="note">
        By two other nodes, in thousandths of a nat. Nodes lose weight by it, but it does not decide
        which answers agree. The numbers of a node that asks no model are far apart from others'.
      </p>
      <Table headings={['Node', ...columns.map(([name]) => ofNumbers(name))]}>
        {rows.map(({ node, ...row }) => (
          <tr key={node}>
            <th scope="row">
              <NodeLink node={node} />
            </th>
            {columns.map(([name, cellOf]) => (
              <td class="number" key={name} data-name={name}>
                {cellOf(row)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </>
  )
}
