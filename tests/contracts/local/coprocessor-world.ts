import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, hexToBytes } from 'viem'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { placeLocalTaskManager } from '../../../contracts/local/cofhe.ts'
import { proofMetadata } from '../../../contracts/local/coprocessor/verifier.ts'
import { startCoprocessor } from '../../../demo/coprocessor-process.ts'
import { createProcesses } from '../../../demo/processes.ts'
import type { EncryptedInput } from '../../../lib/chain/encrypted-input.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { anAddress } from '../../branded.ts'
import { deployTo, walletsOf } from '../test-chain.ts'

/** A chain with the contracts and a coprocessor process of its own. */
export type CoprocessorWorld = Awaited<ReturnType<typeof startCoprocessorWorld>>

export const startCoprocessorWorld = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-coprocessor-test-'))
  const processes = createProcesses(folder)
  const anvil = await startAnvil({ chainId: localFheChainId })
  const { rpcUrl, chainId } = anvil
  const coprocessor = await startCoprocessor({ processes, rpcUrl, chainId, dataFolder: folder })
  await placeLocalTaskManager({ rpcUrl, chainId, verifier: coprocessor.verifier })
  const contracts = await deployTo(anvil)
  const stop = async () => {
    await processes.close()
    await anvil.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { anvil, contracts, processes, folder, coprocessor, ...walletsOf(anvil), stop }
}

/** The answer of the coprocessor to a JSON body. */
export const post = async (
  { coprocessor }: CoprocessorWorld,
  path: string,
  body: unknown,
): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> => {
  const answer = await fetch(`${coprocessor.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, json: await answer.json() }
}

/** A proven list of ciphertexts, as hex. */
export const proveFor = async (
  world: CoprocessorWorld,
  account: Hex,
  values: readonly bigint[],
): Promise<string> => {
  const zone = { securityZone: 0 }
  const [publicKey, crs] = await Promise.all([
    post(world, '/GetNetworkPublicKey', zone),
    post(world, '/GetCrs', zone),
  ])
  const metadata = proofMetadata(0, anAddress(account), world.anvil.chainId)
  const child = fork(join(import.meta.dirname, 'prove-child.ts'))
  try {
    return await new Promise((resolve, reject) => {
      child.once('message', (proof) => resolve(String(proof)))
      child.once('exit', (code, signal) =>
        reject(new Error(`the proof ended with ${code ?? signal}`)),
      )
      child.send({
        publicKeyHex: publicKey.json.publicKey,
        crsHex: crs.json.crs,
        values: values.map(String),
        metadataHex: Buffer.from(metadata).toString('hex'),
      })
    })
  } finally {
    child.kill('SIGKILL')
  }
}

/** What a client asks to have verified. */
export const verifyRequest = (world: CoprocessorWorld, account: Hex, list: string) => ({
  packed_list: list,
  account_addr: account,
  security_zone: 0,
  chain_id: world.anvil.chainId,
})

type Verified = { readonly ct_hash: Hex; readonly signature: Hex; readonly recid: number }

/** The verified ciphertexts as the contracts take them. */
export const inputsOf = (json: Record<string, unknown>): readonly EncryptedInput[] =>
  (json.data as readonly Verified[]).map(({ ct_hash, signature, recid }) => {
    if (hexToBytes(signature).length !== 64) throw new Error('r and s have 64 bytes')
    const v = (recid + 27).toString(16)
    return { ctHash: BigInt(ct_hash), securityZone: 0, utype: 6, signature: `${signature}${v}` }
  })
