import type { Api } from '../lib/api.ts'
import { ProblemError } from '../lib/problem.ts'
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
  'openCheck',
  'abortAssignment',
  'abortTurn',
  'putBlob',
] as const

/** The operations that the daemon calls, signed by its session key. */
export type NodeApi = Pick<Api, (typeof operations)[number]>

// The last one is for a key that the ICL never saw, or has forgotten.
const lost: readonly string[] = ['certificate-expired', 'not-attested', 'signature-invalid']

/** True for the ICL's word that this daemon's run counts no more: the daemon ends, for there is no war of re-attestation. */
export const endsRun = (error: unknown): boolean =>
  error instanceof ProblemError &&
  (error.code === 'run-superseded' || error.code === 'run-conflict')

/** Calls the ICL; when it does not accept the certificate, attests again and tries the call once more (spec 3.1). */
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
        // Another call may have cured it meanwhile.
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
