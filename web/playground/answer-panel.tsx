import { useState } from 'preact/hooks'
import type { AcceptedInference } from '../../lib/client/inference.ts'
import { secondsOf } from './step-list.tsx'

/** The answer as text, whatever the model wrote. */
export function AnswerPanel({ inference }: { readonly inference: AcceptedInference }) {
  const { output, model, timingsMs, verdicts } = inference
  const matches = verdicts.filter(({ verdict }) => verdict === 'match').length
  const [copied, setCopied] = useState('')
  const copy = () =>
    navigator.clipboard.writeText(output).then(
      () => setCopied('Copied'),
      () => setCopied('The browser does not allow it'),
    )
  return (
    <section class="panel" aria-labelledby="answer-title">
      <h2 id="answer-title">Answer</h2>
      <p class="fine">
        {model}, agreed on by {matches} of {verdicts.length} verifiers, in{' '}
        {secondsOf(timingsMs.total)}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reachable without a mouse */}
      <pre class="answer" tabIndex={0}>
        {output}
      </pre>
      <div class="actions">
        <button type="button" class="quiet" onClick={() => void copy()}>
          Copy the answer
        </button>
        <span class="fine" role="status">
          {copied}
        </span>
      </div>
    </section>
  )
}
