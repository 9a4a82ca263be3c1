import { z } from 'zod'
import { checkEmbedded, checkProof } from '../../lib/host/coprocessor/prove.ts'
import { flag, json } from '../../lib/host/program/option.ts'
import { type Lines, runOnly } from '../../lib/host/program/run-program.ts'
import { commit, sourceHash, version } from '../../lib/host/version.ts'

const timeoutMs = 600_000
const options = z.object({
  build: flag('Only say what the executable was built from'),
  proof: flag(
    'Also make a real proof with keys made for it, verify and open it (more than a minute)',
  ),
  json,
})

/** Runs the executable's self-check, and exits. */
export const selfCheck = (args: readonly string[]): Promise<never> =>
  runOnly(
    'svc-node self-check',
    {
      summary:
        'Check that what is embedded in this executable works: the worker for FHE proofs and the FHE code in it.',
      options,
      run: check,
    },
    { args },
  )

async function check(
  { build, proof, json }: z.output<typeof options>,
  { print }: Lines,
): Promise<undefined> {
  const built = { version, commit: commit ?? 'unknown', source_hash: sourceHash ?? 'unknown' }
  const found: Found = build ? {} : await checkFhe(proof)
  if (json) {
    print(JSON.stringify({ ...built, ...found }))
    return
  }
  print(`build  svc-node ${version}, commit ${built.commit}`)
  const { fhe_ms, proof_bytes, proof_ms } = found
  if (fhe_ms !== undefined) print(`fhe    ok, in a worker (${fhe_ms} ms)`)
  if (proof_ms !== undefined)
    print(`proof  ok, ${proof_bytes} bytes, verified and opened (${proof_ms} ms)`)
}

type Found = Partial<Record<'fhe_ms' | 'proof_bytes' | 'proof_ms', number>>

async function checkFhe(withProof: boolean): Promise<Found> {
  const signal = AbortSignal.timeout(timeoutMs)
  const began = performance.now()
  await checkEmbedded(signal)
  const checked = performance.now()
  const fhe_ms = Math.round(checked - began)
  if (!withProof) return { fhe_ms }
  const proof_bytes = await checkProof(signal)
  return { fhe_ms, proof_bytes, proof_ms: Math.round(performance.now() - checked) }
}
