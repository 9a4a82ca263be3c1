import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { JobDeps } from './job-deps.ts'

// PromptKeyStore takes no more.
const maxReaders = 16

/** Checks whom the ICL wants to let read the output key: the client and staked nodes, nobody else; throws SvcError `output-readers-untrusted`. */
export async function checkReaders(
  { address, chain }: Pick<JobDeps, 'address' | 'chain'>,
  { client, output_readers: readers }: Pick<ClaimResult, 'client' | 'output_readers'>,
  signal: AbortSignal,
): Promise<void> {
  if (readers.length > maxReaders) throw untrusted(`${readers.length}, more than ${maxReaders}`)
  if (!readers.includes(client)) throw untrusted('without the client')
  if (readers.includes(address)) throw untrusted('with this node, which made the key')
  const nodes = [...new Set(readers)].filter((reader) => reader !== client)
  const active = await Promise.all(nodes.map((node) => chain.isActive(node, signal)))
  const stranger = nodes.find((_, index) => active[index] !== true)
  if (stranger !== undefined) throw untrusted(`with ${stranger}, which is no active node`)
}

const untrusted = (how: string): SvcError =>
  new SvcError('output-readers-untrusted', `the ICL names readers of the output key ${how}`, {
    hint: 'If it stays, do not work for this ICL: it may want to read answers.',
  })
