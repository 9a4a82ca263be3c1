import { parseArgs } from 'node:util'
import { errorMessage } from '../../lib/error-message.ts'
import { checkEmbedded, checkProof } from '../../lib/host/coprocessor/prove.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { commit, sourceHash, version } from '../../lib/host/version.ts'
import { SvcError } from '../../lib/svc-error.ts'

const timeoutMs = 600_000
const usage = `Usage: svc-node self-check [--build | --proof] [--json]

Checks that what is embedded in this executable works: the worker for FHE proofs and the FHE code in it.

  --build   only say what the executable was built from
  --proof   also make a real proof with keys made for it, verify and open it (more than a minute)
  --json    one line of JSON
`

const options = {
  build: { type: 'boolean', default: false },
  proof: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

/** Runs the executable's self-check and returns the exit code: 0, 1 when it is broken, 2 for wrong usage. */
export async function selfCheck(args: readonly string[]): Promise<number> {
  let flags: Flags
  try {
    flags = parseArgs({ args: [...args], options }).values
  } catch (error) {
    complain(error)
    return exitCodes.usage
  }
  try {
    if (flags.help) process.stdout.write(usage)
    else await check(flags)
    return exitCodes.done
  } catch (error) {
    complain(error)
    return exitCodes.operatorMustAct
  }
}

function complain(error: unknown): void {
  process.stderr.write(`error: ${errorMessage(error)}\n`)
  const hint = error instanceof SvcError ? error.hint : 'Run `svc-node self-check --help`.'
  process.stderr.write(`hint: ${hint}\n`)
}

async function check({ build, proof, json }: Flags): Promise<void> {
  const built = { version, commit: commit ?? 'unknown', source_hash: sourceHash ?? 'unknown' }
  const found: Found = build ? {} : await checkFhe(proof)
  if (json) {
    process.stdout.write(`${JSON.stringify({ ...built, ...found })}\n`)
    return
  }
  process.stdout.write(`build  svc-node ${version}, commit ${built.commit}\n`)
  const { fhe_ms, proof_bytes, proof_ms } = found
  if (fhe_ms !== undefined) process.stdout.write(`fhe    ok, in a worker (${fhe_ms} ms)\n`)
  if (proof_ms === undefined) return
  process.stdout.write(`proof  ok, ${proof_bytes} bytes, verified and opened (${proof_ms} ms)\n`)
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
