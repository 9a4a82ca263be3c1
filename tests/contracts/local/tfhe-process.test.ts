import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasKeys } from '../../../contracts/local/coprocessor/key-files.ts'
import { defaultKeysFolder } from '../../../contracts/local/coprocessor/parameters.ts'
import { ServiceError } from '../../../contracts/local/coprocessor/service-error.ts'
import {
  startTfheProcess,
  type TfheProcess,
} from '../../../contracts/local/coprocessor/tfhe-process.ts'
import { until } from '../../eventually.ts'

// The first start on a machine makes keys.
const PATIENCE_MS = 15 * 60_000
// A worker takes two seconds to start, on a busy machine more.
const WORK_TIMEOUT_MS = 10_000

let folder = ''
let keysFolder = ''
let tfhe: TfheProcess | undefined
const ends: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tfhe-process-'))
  keysFolder = join(folder, 'keys')
  const made = defaultKeysFolder(process.env)
  if (hasKeys(made)) await cp(made, keysFolder, { recursive: true })
  tfhe = await startTfheProcess({
    keysFolder,
    dataFolder: folder,
    workTimeoutMs: WORK_TIMEOUT_MS,
    onState: () => {},
    onEnd: (how) => ends.push(how),
  })
}, PATIENCE_MS)
afterAll(async () => {
  await tfhe?.stop()
  await rm(folder, { recursive: true, force: true })
})

const started = (): TfheProcess => {
  if (tfhe === undefined) throw new Error('it did not start')
  return tfhe
}
const signalWorker = (signal: NodeJS.Signals): void => {
  process.kill(started().pid() ?? Number.NaN, signal)
}
const decrypt = () => {
  const handle = toHex(1n, { size: 32 })
  return started().run('decrypt', { handle }, new AbortController().signal)
}
const isThere = async (): Promise<boolean> =>
  decrypt().then(
    () => true,
    (error: unknown) => error instanceof ServiceError && error.status === 400,
  )

describe.skipIf(process.platform === 'win32')('the worker of a coprocessor', () => {
  it(
    'is replaced when it takes too long',
    async () => {
      signalWorker('SIGSTOP')
      await expect(decrypt()).rejects.toMatchObject({ status: 503, code: 'worker_unavailable' })
      expect(ends[0]).toBe('the TFHE worker ended (SIGKILL); another takes its place')
      await until(isThere)
    },
    PATIENCE_MS,
  )

  it(
    'never goes on with other keys than those that the service tells its clients',
    async () => {
      await rm(keysFolder, { recursive: true })
      signalWorker('SIGKILL')
      // Its replacement finds no keys.
      await until(() => ends.includes('the TFHE worker ended (1)'))
      await expect(decrypt()).rejects.toMatchObject({
        status: 503,
        message: expect.stringContaining('start the coprocessor again'),
      })
      expect(hasKeys(keysFolder)).toBe(false)
    },
    PATIENCE_MS,
  )
})
