// After a crash or a power cut, a replaced file must be the old one or the new one, never a part. So the content is written to a draft
// beside it, synced, and renamed. The new name is safe once the folder is synced too.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Permission bits of a file that only its owner can read. */
export const ownerOnly = 0o600
const usualMode = 0o666

/** Writes a file atomically, also under a power cut. Several processes may do so at once. Throws the file system's error. */
export function writeWhole(file: string, content: Uint8Array | string, mode = usualMode): void {
  // The random name keeps others from placing a file or link there before.
  closeSync(replaceWhole(file, content, { mode, draft: `${file}.${randomUUID()}.new` }))
  syncFolder(dirname(file))
}

/** Replaces a file, also under a crash wholly or not at all, and returns it open for appending. The caller syncs the folder. Throws the system's error. */
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

/** Writes all of the content, since one write may take only a part. */
export function writeAll(file: number, content: Uint8Array | string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}

// Windows cannot open folders, and needs no sync of them.
const hasFoldersToSync = process.platform !== 'win32'

/** Syncs a folder, so that new names in it survive a power cut. */
export function syncFolder(folder: string): void {
  if (!hasFoldersToSync) return
  const opened = openSync(folder, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** As `syncFolder`, without blocking the process. */
export async function syncFolderAside(folder: string): Promise<void> {
  if (!hasFoldersToSync) return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
