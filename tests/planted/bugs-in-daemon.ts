import type { PlantedBug } from './planted-bug.ts'

const verifier = 'tests/node/jobs/verifier.test.ts'
const resume = 'tests/node/jobs/resume.test.ts'

/** Mistakes in what a node does, and in what nodes and clients check of one another. */
export const bugsInDaemon: readonly PlantedBug[] = [
  {
    name: 'commitment-sent-before-journal',
    what: 'a commitment is sent whose salt a crash would lose',
    file: 'node/jobs/verifier.ts',
    find: "deps.journal.note({ step: 'committed', jobId, fence, evidence, salt, commitment })\n  await sendCommitment(deps, claim, { commitment }, signal)",
    replace:
      "await sendCommitment(deps, claim, { commitment }, signal)\n  deps.journal.note({ step: 'committed', jobId, fence, evidence, salt, commitment })",
    tests: [resume],
  },
  {
    name: 'result-sent-before-journal',
    what: 'a result is sent that a restarted daemon would contradict',
    file: 'node/jobs/leader.ts',
    find: "noteSigned(deps.journal, { step: 'result', jobId, fence, result })\n  return await deliverResult(deps, result, signal)",
    replace:
      "const ending = await deliverResult(deps, result, signal)\n  noteSigned(deps.journal, { step: 'result', jobId, fence, result })\n  return ending",
    tests: [resume],
  },
  {
    name: 'signed-twice',
    what: 'a node signs a second answer to the same assignment',
    file: 'node/jobs/signed-before.ts',
    find: 'if (journal.hasSigned(step)) throw signedBefore()',
    replace: '',
    tests: [resume],
  },
  {
    name: 'journal-keeps-nothing-signed',
    what: 'a restarted daemon does not know what it has signed',
    file: 'node/journal/journal-file.ts',
    find: 'const live = [...ended, ...[...jobs.values()].flat()]',
    replace: 'const live = [...jobs.values()].flat()',
    tests: ['tests/node/journal/journal-file.test.ts'],
  },
  {
    name: 'key-half-logged',
    what: 'a half of the prompt key is in the log',
    file: 'node/jobs/decrypt-key.ts',
    find: 'return joinHalves(high, low)\n    } catch',
    replace: "log.debug('high half ' + high)\n      return joinHalves(high, low)\n    } catch",
    tests: ['tests/node/jobs/no-keys-in-logs.test.ts'],
  },
  {
    name: 'output-not-opened',
    what: 'a verifier votes match on an output that it did not read',
    file: 'node/jobs/judge.ts',
    find: 'const output = await lookAtOutput(deps, claim, own, leader, secondsLeft, signal)',
    replace: "const output: string = 'fits'",
    tests: [verifier],
  },
  {
    name: 'bait-not-noticed',
    what: 'the output that a client gets may be another than the one that was compared',
    file: 'node/jobs/judge.ts',
    find: "return comparator.reproduces(shown, leader.evidence) ? 'fits' : 'output-mismatch'",
    replace: "return shown ? 'fits' : 'output-mismatch'",
    tests: [verifier],
  },
  {
    name: 'any-reader-let-in',
    what: 'a leader lets in whomever the ICL names',
    file: 'node/jobs/check-readers.ts',
    find: 'if (stranger !== undefined) throw',
    replace: 'if (stranger === undefined && active.length > 1_000) throw',
    tests: ['tests/node/jobs/leader.test.ts'],
  },
  {
    name: 'cid-not-verified',
    what: 'a gateway gives other bytes than it was asked for',
    file: 'lib/blobs/gateways.ts',
    find: 'if ((await cidOf(bytes)) !== cid) {',
    replace: 'if (false) {',
    tests: ['tests/lib/blobs/gateways.test.ts'],
  },
  {
    name: 'seal-bound-to-nothing',
    what: 'the sealed output of one job opens as that of another',
    file: 'lib/sealing.ts',
    find: ': `svc-output-v1:',
    replace: ': `svc-output-v1` || `',
    tests: ['tests/lib/sealing-forms.test.ts'],
  },
  {
    name: 'receipt-of-strangers',
    what: 'a receipt holds with session keys that no wallet granted',
    file: 'lib/receipt.ts',
    find: 'check(granted, `',
    replace: 'check(granted || !granted, `',
    tests: ['tests/lib/receipt.test.ts'],
  },
]
