import type { Api } from '../lib/api.ts'
import { ProblemError } from '../lib/problem.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { Certificate } from './attestation/certificate.ts'

const operations = [
  'postHeartbeat',
  'getAssignments',
  'claimAssignment',
  'commitAssignment',
  'getAssignment',
  'revealAnswer',
  'postResult',
  'postVerdict',
  'showAnswer',
  'weighAnswers',
  'openNumbers',
  'abortAssignment',
  'abortTurn',
  'putBlob',
] as const

/** The operations that the daemon calls as its node. */
export type NodeApi = Pick<Api, (typeof operations)[number]>

// The last one: the ICL never saw the session key, has forgotten it, or has another secret.
const lost: readonly string[] = ['certificate-expired', 'not-attested', 'signature-invalid']

/** True when the daemon has to end: its run is superseded, and two daemons must not re-attest in turn, or it has no key to attest with. */
export const endsRun = (error: unknown): boolean =>
  (error instanceof ProblemError || error instanceof SvcError) && ending.includes(error.code)

const ending: readonly string[] = ['run-superseded', 'run-conflict', 'mock-key-missing']

/** Wraps the ICL's client: when the ICL does not accept the certificate, it attests again and repeats the call once (spec 3.1). */
export function keepAttested(
  api: NodeApi,
  certificate: Pick<Certificate, 'recover' | 'generation'>,
  onRunEnded: (why: unknown) => void,
): NodeApi {
  const kept =
    <I, O, R>(call: (input?: I, options?: O) => Promise<R>) =>
    async (input?: I, options?: O): Promise<R> => {
      const generation = certificate.generation()
      try {
        return await call(input, options)
      } catch (error) {
        if (endsRun(error)) onRunEnded(error)
        if (!(error instanceof ProblemError) || !lost.includes(error.code)) throw error
        // Another call may have attested in the meantime.
        if (generation === certificate.generation()) {
          await certificate.recover(error.message).catch(() => {
            throw error
          })
        }
        return await call(input, options)
      }
    }
  return Object.fromEntries(
    operations.map((name) => [name, kept(api[name] as never)]),
  ) as unknown as NodeApi
}
