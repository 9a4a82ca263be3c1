import type { Address } from '../../lib/codecs.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'

// PromptKeyStore takes no more.
const maxReaders = 16

/** Checks whom the ICL wants to let read the output key: the client and members of its list, nobody else; throws SvcError `output-readers-untrusted`. */
export function checkReaders(
  self: Address,
  {
    client,
    list,
    output_readers: readers,
  }: Pick<ClaimResult, 'client' | 'list' | 'output_readers'>,
): void {
  if (readers.length > maxReaders) throw untrusted(`${readers.length}, more than ${maxReaders}`)
  if (!readers.includes(client)) throw untrusted('without the client')
  if (readers.includes(self)) throw untrusted('with this node, which made the key')
  const stranger = readers.find((reader) => reader !== client && !list.includes(reader))
  if (stranger !== undefined) {
    throw untrusted(`with ${stranger}, which is not on the client's list`)
  }
}

const untrusted = (how: string): SvcError =>
  new SvcError('output-readers-untrusted', `the ICL names readers of the output key ${how}`, {
    hint: 'If it stays, do not work for this ICL: it may want to read answers.',
  })
