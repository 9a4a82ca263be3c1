import { useState } from 'preact/hooks'
import { describeAgreed } from '../../lib/client/agreed.ts'
import type { UncommittedInference } from '../../lib/client/inference.ts'
import { secondsOf } from './step-list.tsx'
import { useReveal } from './use-reveal.ts'

/** Shows the answer as plain text, whatever the model wrote. */
export function AnswerPanel({ inference }: { readonly inference: UncommittedInference }) {
  const { output, model, timingsMs, agreed } = inference
  const [copied, setCopied] = useState('')
  const copy = () =>
    navigator.clipboard.writeText(output).then(
      () => setCopied('Copied'),
      () => setCopied('The browser does not allow it'),
    )
  return (
    <section ref={useReveal()} class="panel" aria-labelledby="answer-title">
      <h2 id="answer-title">Answer</h2>
      <p class="fine">
        {model}, in {secondsOf(timingsMs.total)}; {describeAgreed(agreed)}
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
