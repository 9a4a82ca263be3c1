import { abortable } from '../../chain/abortable.ts'
import type { Clock } from '../../clock.ts'
import type { ProofMaterial } from '../../coprocessor/build-proof.ts'
import { type ProofInput, type Prover, proofLimitMs } from '../../coprocessor/prover.ts'
import { withDeadline } from '../../deadline.ts'
import { SvcError } from '../../svc-error.ts'
import {
  inProofProcess,
  ProofProcessDied,
  type ProofProcessOptions,
  ProofWorkFailed,
} from './proof-child.ts'

const maxStarts = 3

/** Options of `createProcessProver`. */
export type ProcessProverOptions = ProofProcessOptions & {
  readonly clock: Clock
  /** Called for each process that died and is started again. */
  readonly onDeath?: (why: string) => void
  /** Milliseconds for one proof, all starts included. */
  readonly timeoutMs?: number
}

const failed = (why: string, hint: string, cause: unknown): SvcError =>
  new SvcError('coprocessor-encrypt-failed', `CoFHE encrypt failed: ${why}`, { hint, cause })

const asSvcError = (error: unknown): unknown => {
  if (error instanceof ProofWorkFailed) {
    const hint =
      'Check cofhe_urls. Run `svc-node self-check`: if it fails, download the executable again.'
    return failed(error.message, hint, error)
  }
  if (error instanceof ProofProcessDied) {
    const hint = 'See whether the machine has memory left: a proof takes about 200 MB.'
    return failed(`${error.message}, ${maxStarts} times`, hint, error)
  }
  return error
}

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.replace(/^0x/, ''), 'hex')

const materialOf = ({ publicKeyHex, crsHex, values, metadata }: ProofInput): ProofMaterial => ({
  publicKey: bytesOf(publicKeyHex),
  crs: bytesOf(crsHex),
  values,
  metadata,
})

/** Makes proofs in separate processes, one at a time. Starts a process that died again, up to three times in all. */
export function createProcessProver(options: ProcessProverOptions): Prover {
  const { clock, onDeath = () => {}, timeoutMs = proofLimitMs } = options
  let last: Promise<unknown> = Promise.resolve()
  const late = () =>
    failed(`no proof within ${timeoutMs / 1000} s`, 'The machine may be too busy.', undefined)

  const prove = async (material: ProofMaterial, signal: AbortSignal): Promise<Uint8Array> => {
    for (let starts = 1; ; starts++) {
      try {
        return await inProofProcess('prove', material, signal, options)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof ProofProcessDied) || starts === maxStarts) throw asSvcError(error)
        onDeath(error.message)
      }
    }
  }
  return {
    prove: async (input, signal) => {
      const before = last
      let done = () => {}
      const mine = new Promise<void>((resolve) => {
        done = resolve
      })
      last = before.then(() => mine)
      try {
        await abortable(before, signal)
        return await withDeadline(clock, timeoutMs, signal, late, (ended) =>
          prove(materialOf(input), ended),
        )
      } finally {
        done()
      }
    },
  }
}
