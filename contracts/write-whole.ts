import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Permission bits of what its owner alone may read. */
export const ownerOnly = 0o600
const usualMode = 0o666

/** Writes a file that is there whole or not at all, also after the power fails; several processes may do so at once. */
export const writeWhole = (file: string, content: Uint8Array | string, mode = usualMode): void => {
  const draft = `${file}.${randomUUID()}.new`
  try {
    const opened = openSync(draft, 'wx', mode)
    try {
      writeFileSync(opened, content)
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(dirname(file))
}

/** A new name outlives the machine's end only once its folder is on the disk. */
const syncFolder = (folder: string): void => {
  // Windows opens no folders.
  if (process.platform === 'win32') return
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
