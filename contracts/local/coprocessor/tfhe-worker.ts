// Runs the coprocessor's computations in a process of its own, because one blocks it for seconds.
import { errorMessage } from '../../../lib/error-message.ts'
import { loadTfhe } from '../../../lib/host/coprocessor/tfhe.ts'
import { openCiphertexts } from './ciphertexts.ts'
import { fingerprintOf, hasKeys, readKey } from './key-files.ts'
import { makeKeys, openKeys, type TfheKeys } from './tfhe-keys.ts'
import { decrypt, Refused, verify } from './tfhe-work.ts'
import type { WorkerNews, WorkRequest } from './worker-messages.ts'

const [keysFolder = '', dataFolder = '', fingerprint = ''] = process.argv.slice(2)

const tell = (news: WorkerNews): void => {
  process.send?.(news)
}

// Clients have the keys that the service started with. With other keys every request would fail.
const checkKeys = (): void => {
  const found = hasKeys(keysFolder) ? fingerprintOf(readKey(keysFolder, 'publicKey')) : undefined
  if (found === fingerprint) return
  throw new Error('the keys were removed or replaced: start the coprocessor again')
}

const prepare = (): TfheKeys => {
  loadTfhe()
  if (fingerprint !== '') checkKeys()
  if (!hasKeys(keysFolder)) {
    tell({ state: 'making-keys' })
    makeKeys(keysFolder)
  }
  tell({ state: 'preparing' })
  return openKeys(keysFolder)
}

const failed = (error: unknown): void => {
  tell({ state: 'failed', why: errorMessage(error) })
  // The state of this process may be damaged. A new process replaces it.
  process.exitCode = 1
  process.disconnect?.()
}

const start = (): void => {
  const keys = prepare()
  const ciphertexts = openCiphertexts(dataFolder, readKey(keysFolder, 'publicKey'))
  process.on('message', (request: WorkRequest) => {
    try {
      const output =
        request.kind === 'verify'
          ? verify(keys, ciphertexts, request.input)
          : decrypt(keys, ciphertexts, request.input)
      tell({ id: request.id, output })
    } catch (error) {
      if (error instanceof Refused) tell({ id: request.id, refused: error.message })
      else failed(error)
    }
  })
  tell({ state: 'ready' })
}

// The parent process has ended.
process.on('disconnect', () => process.exit())
try {
  start()
} catch (error) {
  failed(error)
}
