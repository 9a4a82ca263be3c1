import { bytesToHex, hexToBytes } from 'viem'
import { deriveTokenKeys, requestKeyOf } from '../../../icl/records/icl-keys.ts'
import type { Address } from '../../../lib/codecs.ts'
import { sha256, utf8 } from '../../../lib/digest.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { anAddress } from '../../branded.ts'
import { sampleSettings } from '../../sample-settings.ts'

/** What a server is told of a node, as if it had attested. */
export type RosterEntry = {
  readonly address: Address
  readonly publicKey: string
  readonly thumbprint: string
}

const tokenKeys = deriveTokenKeys(hexToBytes(`0x${sampleSettings.SVC_ICL_SECRET}`))

/** The nodes of a benchmark, each with keys of its own, as if it had attested; the same number gives the same nodes. */
export const createRoster = (count: number): Promise<readonly NodeSigner[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index): Promise<NodeSigner> => {
      const seed = await sha256(utf8(`bench node ${index}`))
      const key = await signingKeyFromSeed(seed)
      const address = anAddress(bytesToHex((await sha256(seed)).slice(0, 20)))
      const requestKey = await requestKeyOf(await tokenKeys, address, key.thumbprint)
      return { kind: 'node', address, key, requestKey }
    }),
  )

/** What of it a server has to know. */
export const entriesOf = (roster: readonly NodeSigner[]): readonly RosterEntry[] =>
  roster.map(({ address, key: { publicKey, thumbprint } }) => ({ address, publicKey, thumbprint }))
