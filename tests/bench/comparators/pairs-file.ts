import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { SvcError } from '../../../lib/svc-error.ts'

const Text = z.string().min(1).max(1_048_576)

/** Three answers to one question: the leader's and two verifiers'. */
export const Triple = z.object({
  /** The set and the model. */
  name: z.string().min(1).max(200),
  /** H: all three are by that model; D: the leader's is by a weaker one. */
  kind: z.enum(['H', 'D']),
  /** What tells questions apart: answers to one question are not independent of each other. */
  q: Text,
  /** The prompt. */
  p: Text,
  l: Text,
  v1: Text,
  v2: Text,
})
export type Triple = z.output<typeof Triple>

const maxLineChars = 8 * 1_048_576
const maxTriples = 1_000_000

/** Every triple of a file of JSON lines, gzipped if its name ends with `.gz`; throws SvcError `pairs-file` that names the line. */
export async function readTriples(path: string): Promise<Triple[]> {
  const triples: Triple[] = []
  let number = 0
  try {
    for await (const line of linesOf(path)) {
      number += 1
      if (line.trim() === '') continue
      if (triples.length >= maxTriples) throw new RangeError(`more than ${maxTriples} lines`)
      triples.push(Triple.parse(JSON.parse(line)))
    }
  } catch (error) {
    throw new SvcError(
      'pairs-file',
      `${path}${number > 0 ? `, line ${number}` : ''}: ${reasonOf(error)}`,
      {
        hint: 'Each line is a JSON object with name, kind (H or D), q, p, l, v1 and v2.',
      },
    )
  }
  if (triples.length === 0) {
    throw new SvcError('pairs-file', `${path} has no pairs`, {
      hint: 'Record some: npm run bench:comparators -- --record FILE --model NAME --prompts FILE',
    })
  }
  return triples
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const file = createReadStream(path)
  const unzipped = createGunzip()
  // A broken file must end the reading, whichever of the two streams meets the error.
  const text: Readable = path.endsWith('.gz')
    ? file.on('error', (error) => unzipped.destroy(error)).pipe(unzipped)
    : file
  text.setEncoding('utf8')
  let rest = ''
  for await (const chunk of text) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLineChars) throw new RangeError('a line is too long')
    yield* lines
  }
  if (rest !== '') yield rest
}

function reasonOf(error: unknown): string {
  // Answers may be somebody's: an error names the field, never its text.
  if (error instanceof z.ZodError) {
    return error.issues.map(({ path, code }) => `${path.join('.') || 'line'}: ${code}`).join(', ')
  }
  if (error instanceof SyntaxError) return 'this is no JSON'
  return error instanceof Error ? error.message : String(error)
}
