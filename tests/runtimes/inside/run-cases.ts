import { answerCases } from '../../vectors/check/answers.ts'
import { ruleCases } from '../../vectors/check/rules.ts'
import { secretCases } from '../../vectors/check/secrets.ts'
import { attestationCases } from './attestation.ts'
import type { Case, CaseResult } from './case.ts'
import { ed25519Cases } from './ed25519.ts'
import { libCases } from './lib.ts'

/** Everything that has to do the same on every runtime. */
export const cases: readonly Case[] = [
  ...libCases,
  ...ed25519Cases,
  ...attestationCases,
  ...secretCases,
  ...ruleCases,
  ...answerCases,
]

/** Runs every case; never throws. */
export async function runCases(): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = []
  for (const { name, run } of cases) {
    try {
      await run()
      results.push({ name })
    } catch (error) {
      results.push({ name, error: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
}
