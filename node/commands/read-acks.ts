import { readLimitedFile } from '../../lib/host/private-files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { Ack } from '../../lib/schemas/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'

const maxFileBytes = 64 * 1_048_576

/** Reads a file with one acknowledgement, or with one a line as a node keeps them. Throws SvcError `file-unreadable` or `ack-invalid`. */
export async function readAcks(path: string): Promise<readonly Ack[]> {
  const text = await readText(path)
  const whole = parsed(text)
  if (whole) return [whole]
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const ack = parsed(line)
    if (ack) return [ack]
    throw new SvcError('ack-invalid', `Line ${at + 1} of ${path} is no acknowledgement`, {
      hint: 'Name a file with acknowledgements as the ICL signs them, one a line.',
    })
  })
}

async function readText(path: string): Promise<string> {
  const hint = 'Name the file that holds the acknowledgements.'
  const bytes = await readLimitedFile(path, maxFileBytes, hint)
  if (bytes !== undefined) return bytes.toString('utf8')
  throw new SvcError('file-unreadable', `${path} is larger than 64 MiB`, { hint })
}

const parsed = (text: string): Ack | undefined => Ack.safeParse(parseJson(text)).data
