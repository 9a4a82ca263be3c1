import { fileURLToPath } from 'node:url'
import { agreementVectors } from './make/agreements.ts'
import { envelopeVectors } from './make/envelopes.ts'
import { evidenceVectors } from './make/evidence.ts'
import { listVectors } from './make/lists.ts'
import { falseReceipts, trueReceipts } from './make/receipts.ts'
import { requestVectors } from './make/requests.ts'
import { sealingVectors } from './make/sealing.ts'
import { attestationVectors, grantVectors } from './make/sessions.ts'
import { statementVectors } from './make/statements.ts'

/** Every file of vectors, and how its content is made. Nothing in it is random or of today. */
export const vectorFiles: Readonly<Record<string, () => Promise<object>>> = {
  'sealing.json': sealingVectors,
  'envelopes.json': envelopeVectors,
  'grants.json': grantVectors,
  'attestation.json': attestationVectors,
  'requests.json': requestVectors,
  'statements.json': statementVectors,
  'lists.json': listVectors,
  'agreements.json': agreementVectors,
  'evidence-exact.json': () => evidenceVectors('exact'),
  'evidence-similar.json': () => evidenceVectors('similar/2'),
  'evidence-structured.json': () => evidenceVectors('structured/1'),
  'receipts-valid.json': trueReceipts,
  'receipts-invalid.json': falseReceipts,
}

/** Where a file of vectors is. */
export const vectorPath = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** JSON with a line for each vector, so that a change of one is a change of one line. Rows that begin alike share theirs. */
export function vectorText(content: object): string {
  const parts = Object.entries(content).map(([name, value]) => {
    const text = Array.isArray(value) ? `[\n    ${listText(value)}\n  ]` : JSON.stringify(value)
    return `  ${JSON.stringify(name)}: ${text}`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}

const listText = (list: readonly unknown[]): string =>
  list.reduce<string>((text, one, at) => {
    const before = list[at - 1]
    const isSameRow = Array.isArray(one) && Array.isArray(before) && one[0] === before[0]
    return `${text}${at === 0 ? '' : isSameRow ? ', ' : ',\n    '}${JSON.stringify(one)}`
  }, '')
