import { answerCases } from '../../vectors/check/answers.ts'
import { envelopeCases } from '../../vectors/check/envelopes.ts'
import { ruleCases } from '../../vectors/check/rules.ts'
import { secretCases } from '../../vectors/check/secrets.ts'
import { attestationCases } from './attestation.ts'
import type { Case, CaseResult } from './case.ts'
import { ed25519Cases } from './ed25519.ts'
import { libCases } from './lib.ts'
import { outgoingCases } from './outgoing.ts'

/** Everything that has to do the same on every runtime. */
export const cases: readonly Case[] = [
  ...libCases,
  ...ed25519Cases,
  ...attestationCases,
  ...secretCases,
  ...envelopeCases,
  ...ruleCases,
  ...answerCases,
]

/** Runs every case, and with the address of a server whose answers are packed those of requests; never throws. */
export async function runCases(packedUrl?: string | null): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = []
  const all = packedUrl ? [...cases, ...outgoingCases(packedUrl)] : cases
  for (const { name, run } of all) {
    try {
      await run()
      results.push({ name })
    } catch (error) {
      results.push({ name, error: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
}
