import type { Api } from '../lib/api.ts'
import { ProblemError } from '../lib/problem.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { Certificate } from './attestation/certificate.ts'

/** The operations that the daemon calls, signed by its session key. */
export type NodeApi = Pick<
  Api,
  | 'postHeartbeat'
  | 'getAssignments'
  | 'claimAssignment'
  | 'commitAssignment'
  | 'getAssignment'
  | 'postResult'
  | 'postVerdict'
  | 'abortAssignment'
  | 'putBlob'
>

// The last one is for a key that the ICL never saw, or has forgotten.
const lost: readonly string[] = ['certificate-expired', 'not-attested', 'signature-invalid']

/** Why a daemon ends when another machine attested with its wallet: there is no war of re-attestation. */
export const superseded = (): SvcError =>
  new SvcError(
    'certificate-superseded',
    'a newer attestation of this node uses another session key',
    {
      hint: 'Another machine attested with this wallet. Stop it, then run `svc-node attest` here.',
    },
  )

const isSuperseded = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'certificate-superseded'

/** Calls the ICL; when it does not accept the certificate, attests again and tries the call once more (spec 3.1). */
export function keepAttested(
  api: NodeApi,
  certificate: Pick<Certificate, 'recover' | 'generation'>,
  onSuperseded: () => void,
): NodeApi {
  const kept =
    <I, O, R>(call: (input?: I, options?: O) => Promise<R>) =>
    async (input?: I, options?: O): Promise<R> => {
      const generation = certificate.generation()
      try {
        return await call(input, options)
      } catch (error) {
        if (isSuperseded(error)) onSuperseded()
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
  const wrap = <F>(call: F): F => kept(call as never) as F
  return {
    postHeartbeat: wrap(api.postHeartbeat),
    getAssignments: wrap(api.getAssignments),
    claimAssignment: wrap(api.claimAssignment),
    commitAssignment: wrap(api.commitAssignment),
    getAssignment: wrap(api.getAssignment),
    postResult: wrap(api.postResult),
    postVerdict: wrap(api.postVerdict),
    abortAssignment: wrap(api.abortAssignment),
    putBlob: wrap(api.putBlob),
  }
}
