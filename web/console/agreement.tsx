import type { ConsoleJobDetail } from '../../lib/schemas/console.ts'
import type { AgreementView, AnswerPair } from '../../lib/schemas/jobs.ts'
import { short, whyText, words } from './format.ts'
import { Mark } from './marks.tsx'
import { hrefOf } from './route.ts'
import { ofNumbers, Table } from './table.tsx'

/** A link to a node, with the ends of its address. */
export const NodeLink = ({ node }: { readonly node: string }) => (
  <a href={hrefOf('nodes', node)}>
    <code>{short(node)}</code>
  </a>
)

/** Shows for each answer whether it belongs to the agreement, and how it compares with each other one. */
export function AgreementTable({ agreement }: { readonly agreement: AgreementView }) {
  const { rule, needed, answers, group, deliverer, pairs } = agreement
  const nodes = [...new Set(pairs.flatMap((pair) => pair.nodes))]
  const headings = ['Answer', 'Agrees', ...nodes.map((_, index) => ofNumbers(String(index + 1)))]
  return (
    <>
      <p class="note">
        {group.length > 0 ? `${group.length} of ${answers} answers match` : 'Too few answers match'}
        . The rule ({words(rule)}) takes {needed}.
      </p>
      <div class="wide">
        <Table headings={headings}>
          {nodes.map((node, index) => (
            <tr key={node}>
              <th scope="row">
                {index + 1} <NodeLink node={node} />
              </th>
              <td>
                {group.includes(node) ? (
                  <Mark tone="good">{node === deliverer ? 'delivered' : 'agrees'}</Mark>
                ) : (
                  <Mark tone={group.length > 0 ? 'bad' : 'quiet'}>
                    {group.length > 0 ? 'differs' : 'undecided'}
                  </Mark>
                )}
              </td>
              {nodes.map((other, column) => (
                <td class="number" key={other} data-name={other === node ? undefined : column + 1}>
                  <Comparison pair={pairOf(pairs, node, other)} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </div>
    </>
  )
}

const pairOf = (pairs: readonly AnswerPair[], one: string, other: string) =>
  one === other
    ? undefined
    : pairs.find(({ nodes: [first, second] }) =>
        one === first ? other === second : one === second && other === first,
      )

const signs: Readonly<Record<AnswerPair['outcome'], string>> = {
  match: '=',
  'no-match': '≠',
  inconclusive: '?',
}

function Comparison({ pair }: { readonly pair: AnswerPair | undefined }) {
  if (!pair) return null
  const parts = Object.entries(pair.similarities ?? {}).map(([name, value]) => `${name} ${value}`)
  const told = [words(pair.outcome), ...(pair.why === undefined ? [] : [pair.why]), ...parts]
  return (
    <span title={told.join(', ')}>
      <span aria-hidden="true">{signs[pair.outcome]}</span>
      <span class="unseen">{words(pair.outcome)}</span>
    </span>
  )
}

/** Shows the turns to deliver and their outcomes. */
export function Deliveries({ detail: { deliveries, job } }: { detail: ConsoleJobDetail }) {
  return (
    <Table headings={['Turn', 'Outcome']}>
      {deliveries.map(({ node, outcome, reason }, index) => (
        <tr key={node}>
          <th scope="row">
            {index + 1} <NodeLink node={node} />
          </th>
          <td>
            <Mark tone={outcome === 'settled' ? 'good' : 'bad'}>{words(outcome)}</Mark>
            {reason !== undefined && <small> {whyText(reason, job.model_id)}</small>}
          </td>
        </tr>
      ))}
    </Table>
  )
}
