import type { ConsoleEvent, ConsoleJobDetail } from '../../lib/schemas/console.ts'
import { AgreementTable, Deliveries, NodeLink } from './agreement.tsx'
import { AttestedTable } from './attested.tsx'
import { Detail } from './detail.tsx'
import { fullTime, seatName, short, span, took, whyText, words } from './format.ts'
import { icl } from './icl.ts'
import { PhaseMark } from './marks.tsx'
import { Fact, LoadNote, Time } from './note.tsx'
import { Table } from './table.tsx'
import type { Live } from './use-live.ts'
import { useLoaded } from './use-loaded.ts'

type Props = { readonly name: string; readonly live: Live; readonly back: string }

/** Shows one job and its events so far. */
export function JobDetail({ name, live, back }: Props) {
  const isNamed = (job: { ref: string; jobId?: string | undefined }) =>
    job.ref === name || job.jobId === name
  const changes = live.changed.filter(isNamed).length
  const loaded = useLoaded(name, `${live.reloads} ${changes}`, () => icl.job(name))
  const detail = loaded.value
  return (
    <Detail kind="Job" name={detail?.job.jobId ?? name} back={back}>
      <LoadNote loaded={loaded} what="The job" />
      {detail && (
        <>
          <Facts detail={detail} />
          {detail.agreement && (
            <>
              <h3>Agreement</h3>
              <AgreementTable agreement={detail.agreement} />
            </>
          )}
          {detail.deliveries.length > 0 && (
            <>
              <h3>Deliveries</h3>
              <Deliveries detail={detail} />
            </>
          )}
          <AttestedTable detail={detail} />
          <h3>Timeline</h3>
          <Timeline detail={detail} />
          <h3>Seats</h3>
          <Seats detail={detail} />
        </>
      )}
    </Detail>
  )
}

function Facts({ detail: { job, list, receipt_hash } }: { detail: ConsoleJobDetail }) {
  return (
    <>
      <dl class="facts">
        <Fact name="Phase">
          <PhaseMark phase={job.status} />
        </Fact>
        <Fact name="Why">{job.reason && whyText(job.reason, job.model_id)}</Fact>
        <Fact name="Model">{job.model_id}</Fact>
        <Fact name="Comparator">{job.comparator}</Fact>
        <Fact name="Rule">{words(list.rule)}</Fact>
        <Fact name="List">{`${list.members} nodes, ${job.quorum} asked first`}</Fact>
        <Fact name="Passed over">
          {Object.entries(list.passed)
            .map(([why, nodes]) => `${nodes} ${words(why)}`)
            .join(', ')}
        </Fact>
        <Fact name="Tier">{`${job.min_tier} or higher`}</Fact>
        <Fact name="Created">{fullTime(job.created_at)}</Fact>
        <Fact name="Settled">{job.settled_at && fullTime(job.settled_at)}</Fact>
        <Fact name="Took">{job.seconds === undefined ? undefined : took(job.seconds)}</Fact>
        <Fact name="Job id">{job.jobId && <code>{job.jobId}</code>}</Fact>
        <Fact name="Receipt">{receipt_hash && <code>{receipt_hash}</code>}</Fact>
        <Fact name="Transaction">{job.commit_tx && <code>{job.commit_tx}</code>}</Fact>
      </dl>
      {!job.jobId && (
        <p class="note">
          Until the job has settled, its id, its nodes and their verdicts are not shown.
        </p>
      )}
    </>
  )
}

const toneOfEvent = (type: string): string => {
  if (/^(accepted|agreed|result-committed|verdict-match)$/.test(type)) return 'good'
  if (
    /^(disputed|expired|verdict-no-match|delivery-failed|lapsed|aborted|fault-found)$/.test(type)
  ) {
    return 'bad'
  }
  return 'plain'
}

function Timeline({ detail: { job, timeline } }: { detail: ConsoleJobDetail }) {
  return (
    <ol class="timeline">
      {timeline.map((event) => (
        <li key={event.seq} class={toneOfEvent(event.type)}>
          <Time at={event.at}>+{span(event.at - job.created_at)}</Time>
          <Happening event={event} />
        </li>
      ))}
    </ol>
  )
}

function Happening({ event: { type, seat, node, detail } }: { event: ConsoleEvent }) {
  return (
    <span>
      {seat !== undefined && <span class="soft">{seatName(seat)} </span>}
      <strong>{words(type)}</strong>
      {detail && detail !== words(type) && (
        <span class="soft"> {detail.startsWith('0x') ? short(detail) : words(detail)}</span>
      )}
      {node && (
        <>
          {' '}
          <NodeLink node={node} />
        </>
      )}
    </span>
  )
}

function Seats({ detail: { job, assignments } }: { detail: ConsoleJobDetail }) {
  return (
    <Table headings={['Seat', 'Status', 'Verdict', 'Node']}>
      {assignments.map((assignment, index) => (
        <tr key={index}>
          <th scope="row">
            {seatName(assignment.seat)}
            {assignment.batch > 0 && <small> joined, batch {assignment.batch + 1}</small>}
          </th>
          <td>
            {words(assignment.status)}
            {assignment.reason && <small> {whyText(assignment.reason, job.model_id)}</small>}
          </td>
          <td>
            {assignment.verdict && words(assignment.verdict)}
            {assignment.verdict_reason && (
              <small> {whyText(assignment.verdict_reason, job.model_id)}</small>
            )}
          </td>
          <td>{assignment.node && <NodeLink node={assignment.node} />}</td>
        </tr>
      ))}
    </Table>
  )
}
