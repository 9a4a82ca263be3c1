import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'

// More than any step of the journal needs.
const bytes = Buffer.alloc(64 * 1024)

/** Writes a small file into a folder, syncs it and removes it. Throws SvcError `disk-unwritable`. */
export async function checkDisk(folder: string): Promise<void> {
  const path = join(folder, `check-${randomUUID()}.new`)
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    const why = errorMessage(error)
    throw new SvcError('disk-unwritable', `${folder} takes no files: ${why}`, {
      hint: 'Make room on its disk, and check who owns the folder: without its journal the node takes no work.',
      cause: error,
    })
  } finally {
    await rm(path, { force: true }).catch(() => {})
  }
}
