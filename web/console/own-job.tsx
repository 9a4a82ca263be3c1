import { useState } from 'preact/hooks'
import { errorMessage } from '../../lib/error-message.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { AgreementTable } from './agreement.tsx'
import { fullTime, seatName, whyText, words } from './format.ts'
import { icl } from './icl.ts'
import { PhaseMark } from './marks.tsx'
import { Fact } from './note.tsx'

const idPattern = '0x[0-9a-fA-F]{64}'

/** A client's view of its own job, for holders of the job's read token. */
export function OwnJob() {
  const [view, setView] = useState<JobView | undefined>(undefined)
  const [error, setError] = useState<string | undefined>(undefined)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    setError(undefined)
    icl
      .ownJob(String(fields.get('id')).trim(), String(fields.get('token')).trim())
      .then(setView, (reason: unknown) => {
        setView(undefined)
        setError(errorMessage(reason))
      })
  }
  return (
    <section class="panel narrow" aria-labelledby="own-title">
      <h2 id="own-title">Your own job</h2>
      <p class="note">
        With the read token of a submission you see what its client sees. The token goes to this ICL
        alone and is not kept.
      </p>
      <form onSubmit={submit}>
        <label>
          Job id
          <input name="id" required pattern={idPattern} autocomplete="off" spellcheck={false} />
        </label>
        <label>
          Read token
          <input name="token" type="password" required autocomplete="off" />
        </label>
        <button type="submit">Show</button>
      </form>
      {error && (
        <p class="note bad" role="alert">
          {error}
        </p>
      )}
      {view && <OwnFacts view={view} />}
      {view?.agreement && <AgreementTable agreement={view.agreement} />}
    </section>
  )
}

function OwnFacts({ view }: { view: JobView }) {
  return (
    <dl class="facts" aria-live="polite">
      <Fact name="Phase">
        <PhaseMark phase={view.status} />
      </Fact>
      <Fact name="Why">{view.reason && whyText(view.reason, view.model_id)}</Fact>
      <Fact name="Client">
        <code>{view.client}</code>
      </Fact>
      <Fact name="Model">{view.model_id}</Fact>
      <Fact name="Comparator">{view.comparator}</Fact>
      <Fact name="Rule">{words(view.list.terms.rule)}</Fact>
      <Fact name="Created">{fullTime(view.created_at)}</Fact>
      <Fact name="Deadline">{fullTime(view.deadline)}</Fact>
      <Fact name="Prompt">
        <code>{view.prompt_cid}</code>
      </Fact>
      <Fact name="Output">{view.output_cid && <code>{view.output_cid}</code>}</Fact>
      <Fact name="Quorum">
        {view.quorum.map(({ fence, node, seat, batch, status, reason, verdict }) => (
          <span class="line" key={fence}>
            {seatName(seat)} <code>{node}</code> {batch > 0 && 'joined, '}
            {words(status)}
            {verdict && `, says ${words(verdict)}`}
            {reason && <small> {whyText(reason, view.model_id)}</small>}
          </span>
        ))}
      </Fact>
      <Fact name="Passed over">
        {view.list.passed.length > 0 &&
          view.list.passed.map(({ position, reason }) => (
            <span class="line" key={position}>
              <code>{view.list.members[position]}</code> {words(reason)}
            </span>
          ))}
      </Fact>
      <Fact name="Receipt">{view.receipt_hash && <code>{view.receipt_hash}</code>}</Fact>
      <Fact name="Transaction">{view.commit_tx && <code>{view.commit_tx}</code>}</Fact>
      <Fact name="Last try to commit">{view.commit_error}</Fact>
    </dl>
  )
}
