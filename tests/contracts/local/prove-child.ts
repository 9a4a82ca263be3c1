// Proves one thing it is sent, in a process of its own: ten seconds of computing.
import { buildProof } from '../../../lib/coprocessor/build-proof.ts'
import { loadTfhe } from '../../../lib/host/coprocessor/tfhe.ts'

export type ProveRequest = {
  readonly publicKeyHex: string
  readonly crsHex: string
  readonly values: readonly string[]
  readonly metadataHex: string
}

process.once('disconnect', () => process.exit())
process.once('message', ({ publicKeyHex, crsHex, values, metadataHex }: ProveRequest) => {
  loadTfhe()
  const metadata = Buffer.from(metadataHex, 'hex')
  const bytesOf = (hex: string) => Buffer.from(hex.replace(/^0x/, ''), 'hex')
  const keys = { publicKey: bytesOf(publicKeyHex), crs: bytesOf(crsHex) }
  const proof = buildProof({ ...keys, values: values.map(BigInt), metadata })
  // Its reader ends this process.
  process.send?.(Buffer.from(proof).toString('hex'))
})
