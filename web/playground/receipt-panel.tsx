import { z } from 'zod'
import type { AcceptedInference, UncommittedInference } from '../../lib/client/inference.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import type { ReceiptCheck } from './receipt-checks.ts'

/** Saves a receipt as the file that `svc-node receipt verify` takes. */
function download({ receipt, jobId }: UncommittedInference): void {
  const json = `${JSON.stringify(z.encode(Receipt, receipt), null, 2)}\n`
  const url = URL.createObjectURL(new Blob([json], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `receipt-${jobId.slice(2, 10)}.json`
  link.click()
  URL.revokeObjectURL(url)
}

/** Shows an answer's receipt: each check with its result, and a download. */
export function ReceiptPanel({
  inference,
  checks,
}: {
  readonly inference: AcceptedInference | UncommittedInference
  readonly checks: readonly ReceiptCheck[]
}) {
  const passed = checks.filter((check) => check.passed).length
  const isWhole = checks.length > 0 && passed === checks.length
  return (
    <section class="panel" aria-labelledby="receipt-title">
      <h2 id="receipt-title">
        Receipt{' '}
        <span class={isWhole ? 'tag good' : 'tag bad'}>
          {checks.length > 0 ? `${passed} of ${checks.length} checks passed` : 'not checked again'}
        </span>
      </h2>
      <details open={!isWhole}>
        <summary>Each check</summary>
        <ul class="checks">
          {checks.map(({ name, about, passed: isPassed }) => (
            <li key={name} class={isPassed ? 'passed' : 'not-passed'} data-passed={isPassed}>
              <span class="mark" aria-hidden="true">
                {isPassed ? '✓' : '✕'}
              </span>
              <span class="words">
                <span class="title">{name}</span>
                <span class="unseen">, {isPassed ? 'passed' : 'failed'}</span>
                <span class="purpose">{about}</span>
              </span>
            </li>
          ))}
        </ul>
      </details>
      <dl class="facts">
        <dt>Hash</dt>
        <dd>
          <code>{inference.receiptHash}</code>
        </dd>
        {'commitTx' in inference && (
          <>
            <dt>Transaction</dt>
            <dd>
              <code>{inference.commitTx}</code>
            </dd>
          </>
        )}
      </dl>
      <div class="actions">
        <button type="button" class="quiet" onClick={() => download(inference)}>
          Download the receipt
        </button>
      </div>
    </section>
  )
}
