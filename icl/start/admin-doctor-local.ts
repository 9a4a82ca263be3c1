import { constants, existsSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Check } from '../../lib/host/checks.ts'
import { checking, failed, failedBy, ok, skipped } from '../../lib/host/checks.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { keyOf } from '../records/keys.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { accessOf } from './access.ts'
import type { AdminTerminal } from './admin-command.ts'
import { time } from './admin-text.ts'
import { readFileText, readFolder } from './machine.ts'
import { mirrorFileOf, openStore, sqliteFileOf } from './open-store.ts'
import { readPlayground } from './playground.ts'
import { type Settings, settingsWarnings } from './settings.ts'
import { revokedTpmsOf, tpmTrustOf } from './tpm.ts'

const storeMs = 20_000
const leastRoomBytes = 1024 ** 3
const triedMs = 60_000

/** Checks that the files named by settings can be read, and fails for settings that are probably not meant. */
export async function checkMeaning(
  settings: Settings,
  environment: AdminTerminal['environment'],
): Promise<readonly Check[]> {
  const name = 'settings'
  const files = await checking(name, async () => {
    accessOf(settings, readFileText)
    revokedTpmsOf(settings, readFileText)
    readPlayground(settings, undefined, readFolder)
    return ok(name, 'are complete')
  })
  const warnings = settingsWarnings(settings, environment)
  return [
    files,
    ...warnings.map((warning) => failed(name, warning, 'Correct it, unless it is meant.')),
  ]
}

/** Checks that nodes can attest, and that the TPM roots are valid now. */
export const checkAttestation = (settings: Settings, clock: Clock): Promise<Check> =>
  checking('attestation', async () => {
    const name = 'attestation'
    const roots = tpmTrustOf(settings, readFileText)?.roots ?? []
    const now = clock.now()
    const ended = roots.filter(({ notBefore, notAfter }) => now < notBefore || now > notAfter)
    if (ended.length > 0) {
      const named = ended.map(
        ({ subject, notBefore, notAfter }) =>
          `${subject} is valid from ${time(notBefore)} to ${time(notAfter)}`,
      )
      const remedy = "Replace it in SVC_ICL_TPM_ROOTS by the vendor's current one."
      return failed(name, named.join(', '), remedy)
    }
    const isMock = settings.SVC_ICL_MOCK_ATTESTATION_KEY !== undefined
    if (roots.length === 0 && !isMock) {
      const remedy = 'Set SVC_ICL_TPM_ROOTS, or SVC_ICL_MOCK_ATTESTATION_KEY for development.'
      return failed(name, 'no node can attest: no backend is accepted', remedy)
    }
    const tpm = roots.length > 0 ? [`TPMs of ${roots.length} roots`] : []
    return ok(name, [...tpm, ...(isMock ? ['mock'] : [])].join(', '))
  })

/** Checks that the disk of a sqlite file, or of the one that MongoDB follows, has room. */
export const checkDisk = (settings: Settings): Promise<Check> =>
  checking('disk', async () => {
    const name = 'disk'
    const url = settings.SVC_ICL_DATABASE_URL
    const file = url.startsWith('sqlite:') ? sqliteFileOf(url) : mirrorFileOf(settings)
    if (file === undefined) return skipped(name, 'the database is not a file')
    const folder = existingFolderOf(file)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    const text = `${folder} has ${(free / leastRoomBytes).toFixed(1)} GiB of room`
    if (free >= leastRoomBytes) return ok(name, text)
    const remedy =
      'Make room before it is full: that ends all saves, also those of `admin prune`, which deletes settled jobs.'
    return failed(name, text, remedy)
  })

/** Checks the file that MongoDB follows in the same way as a database. The first start makes its folder. */
export async function checkFile(settings: Settings, log: Log): Promise<Check> {
  const name = 'file'
  const file = mirrorFileOf(settings)
  if (file === undefined) return skipped(name, 'MongoDB follows none')
  const its = { SVC_ICL_DATABASE_URL: `sqlite:${file}` }
  const { check, store } = await checkStore(its, log, existingFolderOf(file))
  await store?.close()
  return { ...check, name }
}

const isMissing = (error: unknown): boolean =>
  error instanceof SvcError && error.code === 'store-missing'

/** The nearest folder above a file that is there. */
function existingFolderOf(file: string): string {
  const folder = dirname(resolve(file))
  return existsSync(folder) ? folder : existingFolderOf(folder)
}

const takesFiles = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK).then(
    () => true,
    () => false,
  )

/**
 * Checks that the database is reachable, has this version's schema, and takes saves. The store stays open for other checks. A file may be
 * missing where its folder takes files.
 */
export async function checkStore(
  { SVC_ICL_DATABASE_URL: url }: Pick<Settings, 'SVC_ICL_DATABASE_URL'>,
  log: Log,
  folder = dirname(resolve(sqliteFileOf(url))),
): Promise<{ readonly check: Check; readonly store?: Store }> {
  const name = 'store'
  if (url === 'memory:') return { check: ok(name, 'in memory: a restart forgets everything') }
  let store: Store | undefined
  const late = () => new Error(`no answer within ${storeMs / 1000} s`)
  try {
    const opening = openStore(url, { guest: true, log })
    const opened = await withDeadline(systemClock, storeMs, undefined, late, () => opening)
    store = opened
    return {
      check: await withDeadline(systemClock, storeMs, undefined, late, () => tryOut(opened)),
      store,
    }
  } catch (error) {
    const check = await storeFailure(url, folder, error)
    return store ? { check, store } : { check }
  }
}

async function tryOut(store: Store): Promise<Check> {
  const name = 'store'
  await store.ping()
  const now = systemClock.now()
  const value = toBase64Url(systemRandom.bytes(12))
  const saved = {
    kind: 'key',
    key: keyOf('doctor', value),
    value,
    now,
    expiresAt: now + triedMs,
  } as const
  const isSaved = await store.save(saved).catch(unlessLocked)
  if (isSaved === undefined) return ok(name, 'reachable, and follows the file of an ICL')
  if (!isSaved) return failed(name, 'a save was refused', 'Try again.', true)
  await store.save({ kind: 'release-key', key: saved.key, value })
  const { reasons, unreadable = 0 } = store.status()
  if (unreadable > 0) {
    return failed(name, `${unreadable} records cannot be read`, 'Restore the last backup.')
  }
  if (reasons.length > 0) return failed(name, reasons.join(', '), 'See the log of the ICL.', true)
  const { effects } = await store.stats()
  return ok(name, `reachable, takes saves, ${effects} effects to deliver`)
}

/** Passes over the refusal of a database that an ICL has alone. */
function unlessLocked(error: unknown): undefined {
  if (!(error instanceof SvcError && error.code === 'store-locked')) throw error
}

async function storeFailure(url: string, folder: string, error: unknown): Promise<Check> {
  const name = 'store'
  if (!isMissing(error)) return failedBy(name, error)
  if (await takesFiles(folder)) {
    return ok(name, `there is none yet: the first start makes ${resolve(sqliteFileOf(url))}`)
  }
  const remedy = 'Allow the user of the ICL to write there, or name another file.'
  return failed(name, `there is none, and ${folder} takes no files`, remedy)
}
