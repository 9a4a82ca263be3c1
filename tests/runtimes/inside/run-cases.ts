import { answerCases } from '../../vectors/check/answers.ts'
import { envelopeCases } from '../../vectors/check/envelopes.ts'
import { ruleCases } from '../../vectors/check/rules.ts'
import { secretCases } from '../../vectors/check/secrets.ts'
import { attestationCases } from './attestation.ts'
import { type Case, type CaseResult, runAll } from './case.ts'
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
export const runCases = (packedUrl?: string | null): Promise<readonly CaseResult[]> =>
  runAll(packedUrl ? [...cases, ...outgoingCases(packedUrl)] : cases)
