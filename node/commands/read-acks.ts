import { readFile, stat } from 'node:fs/promises'
import { errorMessage } from '../../lib/error-message.ts'
import { Ack } from '../../lib/schemas/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'

const maxFileBytes = 64 * 1_048_576

/** The acknowledgements of a file: one, or one a line as a node keeps them; throws SvcError `file-unreadable` or `ack-invalid`. */
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
  try {
    if ((await stat(path)).size <= maxFileBytes) return await readFile(path, 'utf8')
  } catch (error) {
    throw new SvcError('file-unreadable', errorMessage(error), { hint, cause: error })
  }
  throw new SvcError('file-unreadable', `${path} is larger than 64 MiB`, { hint })
}

function parsed(text: string): Ack | undefined {
  try {
    return Ack.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
