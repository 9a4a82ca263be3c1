import { abortable } from '../../../lib/chain/abortable.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { systemClock } from '../../../lib/system.ts'
import { openCiphertexts } from './ciphertexts.ts'
import { readKey } from './key-files.ts'
import { tellKeyProgress } from './key-progress.ts'
import type { CoprocessorOptions } from './options.ts'
import { defaultKeysFolder } from './parameters.ts'
import { serveCoprocessor } from './serve.ts'
import { startTfheProcess } from './tfhe-process.ts'
import { createVerifier } from './verifier.ts'

const rpcTimeoutMs = 5_000

const checkChainId = async ({ rpcUrl, chainId }: CoprocessorOptions): Promise<void> => {
  const { publicClient } = createChainReader({ rpcUrl, chainId, timeoutMs: rpcTimeoutMs })
  const patience = AbortSignal.timeout(2 * rpcTimeoutMs)
  const actual = await abortable(publicClient.getChainId(), patience).catch((error: unknown) => {
    throw new Error('the RPC of the chain does not respond: check --rpc-url', { cause: error })
  })
  if (actual === chainId) return
  throw new Error(
    `the RPC is of chain ${actual}, not of ${chainId}: check --rpc-url and --chain-id`,
  )
}

/** Starts the local coprocessor and resolves when it serves. Makes its keys first if there are none. */
export const startLocalCoprocessor = async (
  options: CoprocessorOptions,
  tell: (line: string) => void,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> => {
  const { data: dataFolder, chainId, rpcUrl, host, port } = options
  const keysFolder = options.keys ?? defaultKeysFolder(process.env)
  await checkChainId(options)
  let endProgress = () => {}
  const tfhe = await startTfheProcess({
    keysFolder,
    dataFolder,
    onState: (state) => {
      endProgress()
      endProgress = state === 'making-keys' ? tellKeyProgress(tell) : () => {}
    },
    onEnd: tell,
  }).finally(() => endProgress())
  const publicKey = readKey(keysFolder, 'publicKey')
  const server = serveCoprocessor({
    chainId,
    chain: createChainReader({ rpcUrl, chainId, timeoutMs: rpcTimeoutMs }),
    clock: systemClock,
    ciphertexts: openCiphertexts(dataFolder, publicKey),
    tfhe,
    verifier: createVerifier(readKey(keysFolder, 'verifierKey'), chainId),
    host,
    port,
    publicKey,
    crs: readKey(keysFolder, 'crs'),
    tell,
  })
  return {
    url: server.url.href.replace(/\/$/, ''),
    stop: async () => {
      await server.stop(true)
      await tfhe.stop()
    },
  }
}
