// A file that is replaced must be the old one or the new one after a crash or a power cut, never half of either. So the content
// goes to a draft beside it, is forced to the disk, and is then renamed; the name is safe once the folder is forced to the disk too.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Permission bits of a file that its owner alone may read. */
export const ownerOnly = 0o600
const usualMode = 0o666

/** Writes a file that is there whole or not at all, also after a power cut. Several processes may do so at once. Throws what the file system throws. */
export function writeWhole(file: string, content: Uint8Array | string, mode = usualMode): void {
  // Nobody can have put a file or a link there before.
  closeSync(replaceWhole(file, content, { mode, draft: `${file}.${randomUUID()}.new` }))
  syncFolder(dirname(file))
}

/**
 * Puts a file with this content in the place of the old one, and returns it open for appending. The caller syncs the folder. A
 * crash or a failure leaves the old file or the new one. Throws what the file system throws.
 */
export function replaceWhole(
  file: string,
  content: Uint8Array | string,
  { mode, draft }: { readonly mode: number; readonly draft: string },
): number {
  const opened = openSync(draft, 'ax', mode)
  try {
    writeAll(opened, content)
    fsyncSync(opened)
    renameSync(draft, file)
    return opened
  } catch (error) {
    closeSync(opened)
    rmSync(draft, { force: true })
    throw error
  }
}

/** Writes all of a content: one write may take only a part of it. */
export function writeAll(file: number, content: Uint8Array | string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}

// Windows opens no folders, and needs none synced.
const hasFoldersToSync = process.platform !== 'win32'

/** Makes new names in a folder outlive a power cut. */
export function syncFolder(folder: string): void {
  if (!hasFoldersToSync) return
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** As `syncFolder`, without holding up the process. */
export async function syncFolderAside(folder: string): Promise<void> {
  if (!hasFoldersToSync) return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
