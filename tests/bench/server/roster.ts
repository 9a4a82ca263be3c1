import { bytesToHex } from 'viem'
import type { Address } from '../../../lib/codecs.ts'
import { sha256, utf8 } from '../../../lib/digest.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { anAddress } from '../../branded.ts'

/** What a server is told of a node, as if it had attested. */
export type RosterEntry = {
  readonly address: Address
  readonly publicKey: string
  readonly thumbprint: string
}

/** The nodes of a benchmark, each with a session key of its own; the same number gives the same nodes. */
export const createRoster = (count: number): Promise<readonly NodeSigner[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index): Promise<NodeSigner> => {
      const seed = await sha256(utf8(`bench node ${index}`))
      const key = await signingKeyFromSeed(seed)
      return {
        kind: 'node',
        address: anAddress(bytesToHex((await sha256(seed)).slice(0, 20))),
        key,
      }
    }),
  )

/** What of it a server has to know. */
export const entriesOf = (roster: readonly NodeSigner[]): readonly RosterEntry[] =>
  roster.map(({ address, key: { publicKey, thumbprint } }) => ({ address, publicKey, thumbprint }))
