import { type Hex, keccak256, pad } from 'viem'
import { commitList } from '../../lib/chain/key-lists.ts'
import { Address, JobId } from '../../lib/codecs.ts'

const jobId = JobId.parse(keccak256('0x0a'))
const others = ['0xa1', '0xa2'].map((text) => Address.parse(pad(text as Hex, { size: 20 })))

/** Gives `reader` access to a stored key, as its owner: the first node of a list for it. */
export const letRead = async (
  key: Omit<Parameters<typeof commitList>[0], 'terms' | 'mask'>,
  reader: Hex,
): Promise<void> => {
  const activator = Address.parse(reader)
  const { timestamp } = await key.publicClient.getBlock()
  const terms = { jobId, activator, until: Number(timestamp) + 600, list: [activator, ...others] }
  await commitList({ ...key, terms, mask: 1 })
}
