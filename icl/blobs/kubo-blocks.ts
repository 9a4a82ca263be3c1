import { z } from 'zod'
import { cidOf } from '../../lib/cid.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readByGateway } from './kubo-gateway.ts'
import { type KuboRpc, type KuboRpcOptions, readKubo } from './kubo-rpc.ts'

const PutBlock = z.object({ Key: z.string().max(100) })

/** Puts a block into Kubo. Throws SvcError `kubo-...`, also when it gets another CID. */
export async function putBlock(
  rpc: KuboRpc,
  cid: string,
  file: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const command = 'block/put'
  const query = { 'cid-codec': 'raw', mhtype: 'sha2-256', pin: 'false' }
  const { Key } = readKubo(PutBlock, command, await rpc({ command, query, file }))
  if (Key === cid) return
  throw new SvcError('kubo-refused', `Kubo put ${cid} under another CID`, {
    hint: 'SVC_ICL_BLOBS has to name the RPC of a Kubo.',
  })
}

type BlockOptions = Omit<KuboRpcOptions, 'rpcUrl'> & { readonly gatewayUrl?: string | undefined }

const absent = /not found|could not find/i

/** Reads one of Kubo's own blocks, from its gateway if one is given; undefined when it has none. Throws SvcError `kubo-...`. */
export async function readBlock(
  options: BlockOptions,
  rpc: KuboRpc,
  cid: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { gatewayUrl } = options
  if (gatewayUrl !== undefined) return readByGateway(options, gatewayUrl, cid, signal)
  // Offline, so that Kubo does not search other peers for a missing block.
  const query = { arg: cid, offline: 'true' }
  const answer = await rpc({ command: 'block/get', query, signal })
  if ('bytes' in answer && (await cidOf(answer.bytes)) === cid) return answer.bytes
  if ('refusal' in answer && absent.test(answer.refusal)) return undefined
  throw new SvcError(
    'kubo-refused',
    'refusal' in answer
      ? `Kubo does not give ${cid}: ${answer.refusal.slice(0, 200)}`
      : `Kubo sent bytes that do not hash to ${cid}`,
    { hint: 'Let `ipfs repo verify` look at its blocks.' },
  )
}
