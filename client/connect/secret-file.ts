import { readFile, stat } from 'node:fs/promises'
import { errorMessage } from '../../lib/error-message.ts'
import { exposedMode } from '../../lib/host/private-files.ts'
import { SvcError } from '../../lib/svc-error.ts'

// Room for the keys of 256 callers at their longest.
const maxFileBytes = 262_144

/** Reads a file that only its owner may read; throws SvcError `<what>-unreadable` or `<what>-exposed`. `setting` is the variable that names it. */
export async function readSecretFile(path: string, what: string, setting: string): Promise<string> {
  const unreadable = (why: string): SvcError =>
    new SvcError(`${what}-unreadable`, `the key file ${path} cannot be used: ${why}`, {
      hint: `Correct ${setting}, or make the file yours, with mode 600 and the key in it.`,
    })
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) throw unreadable('it is a folder')
    if (stats.size > maxFileBytes) throw unreadable('it is too large for keys')
    // Anyone who can read the key can spend its money.
    const exposed = exposedMode(stats)
    if (exposed !== undefined) {
      throw new SvcError(`${what}-exposed`, `others may read ${path} (mode ${exposed})`, {
        hint: `Run: chmod 600 ${path}`,
      })
    }
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof SvcError) throw error
    throw unreadable(errorMessage(error))
  }
}
