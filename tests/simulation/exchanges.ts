import type { Job } from '../../icl/rules/job.ts'
import type { Address } from '../../lib/codecs.ts'
import { Problem } from '../../lib/problem.ts'
import type { Exchange } from './network.ts'
import type { Story } from './story.ts'

/** What is looked at in every answer of a replica. */
export type Watch = {
  readonly story: Story
  readonly jobs: ReadonlyMap<string, Job>
  readonly addressOf: (caller: string) => Address | undefined
  /** Bodies of errors, to look for secrets in. */
  readonly errors: string[]
}

const longestNonceMs = 300_000
// Of what may be sent again, since it changes nothing more.
const longestRepeatMs = 60_000
// The replicas' clocks are a second off, and signatures count whole seconds.
const toleranceMs = 3_000

/** Makes the check of one exchange after another; it breaks no promise itself, but notes what does. */
export function createExchangeCheck(watch: Watch): (exchange: Exchange) => void {
  const accepted = new Set<string>()
  const { story } = watch
  const once = (what: string, key: string) => {
    if (accepted.has(key)) story.violate(`${what} was accepted twice: ${key}`)
    accepted.add(key)
  }
  return (exchange) => {
    const { answer, caller, path, arrivedAt } = exchange
    if (answer.status >= 400) return checkProblem(watch, exchange)
    const signed = exchange.sent.headers.get('signature-input') ?? ''
    const nonce = /nonce="([^"]+)"/.exec(signed)?.[1]
    const keyId = /keyid="(erc8128:[^"]+)"/.exec(signed)?.[1]
    const signedAt = Number(/created=(\d+)/.exec(signed)?.[1]) * 1000
    if (nonce && keyId) {
      once('a signed request', `${keyId} ${nonce}`)
      if (arrivedAt - signedAt > longestNonceMs + toleranceMs) {
        story.violate(`a signature of ${caller} counted after 300 s`)
      }
    }
    if (!nonce && arrivedAt - signedAt > longestRepeatMs + toleranceMs) {
      story.violate(`a signature of ${caller} without a nonce counted after 60 s`)
    }
    if (path.startsWith('/internal/task/0x')) checkReveal(watch, exchange)
    if (path === '/internal/attestation/verify')
      once('a challenge', `${jsonOf(exchange.sent.body).nonce}`)
    if (path === '/internal/task/claim') checkHandles(watch, exchange)
  }
}

const jsonOf = (bytes: Uint8Array): Record<string, string> =>
  JSON.parse(new TextDecoder().decode(bytes))

function checkProblem({ story, errors }: Watch, { answer, method, path }: Exchange): void {
  const about = `${method} ${path.replace(/0x[0-9a-f]{12,}/g, '...')} answered ${answer.status}`
  const text = new TextDecoder().decode(answer.body)
  errors.push(text)
  if (answer.status === 500) story.violate(`${about}: ${text}`)
  const type = answer.headers.get('content-type') ?? ''
  try {
    Problem.parse(JSON.parse(text))
  } catch {
    story.violate(`${about} without a problem`)
  }
  if (!type.startsWith('application/problem+json')) story.violate(`${about} as ${type}`)
}

/** What another node answered is for those who have revealed their own answer. */
function checkReveal({ story, jobs, addressOf }: Watch, { caller, path, answer }: Exchange): void {
  const seen = /"to_(check|weigh)"/.test(new TextDecoder().decode(answer.body))
  const address = addressOf(caller)
  const assignments = jobs.get(path.split('/').at(-1) ?? '')?.assignments ?? []
  const may = assignments.some((own) => own.node === address && own.answer !== undefined)
  if (seen && !may) story.violate(`${caller} saw an answer before it revealed its own`)
}

/** Key handles are only for those who have a part in the job. */
function checkHandles({ story, jobs, addressOf }: Watch, { caller, answer }: Exchange): void {
  const { jobId = '', fence } = jsonOf(answer.body)
  const address = addressOf(caller)
  const assignments = jobs.get(jobId)?.assignments ?? []
  if (
    assignments.some(
      (assignment) => assignment.node === address && String(assignment.fence) === String(fence),
    )
  )
    return
  story.violate(`${caller} got the handles of job ${jobId.slice(0, 10)}, in which it has no part`)
}
