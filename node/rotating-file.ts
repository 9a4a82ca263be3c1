import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** A file of lines that is replaced when it is full; a line that was written survives the end of this process. */
export type RotatingFile = {
  /** Writes one line; throws what the file system throws. */
  append(line: string): void
  close(): void
}

/** Where it is, how large it may get, and how many full ones stay beside it as `.1`, `.2` and so on. */
export type RotatingFileOptions = {
  readonly path: string
  readonly maxBytes: number
  readonly oldFiles: number
}

/** Opens a file of lines for the owner's eyes only (mode 0600); when another program moves it away, the next line starts a new one. */
export function openRotatingFile(options: RotatingFileOptions): RotatingFile {
  const { path, maxBytes, oldFiles } = options
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const open = () => {
    const opened = openSync(path, 'a+', 0o600)
    try {
      endTornLine(opened)
      return opened
    } catch (error) {
      closeSync(opened)
      throw error
    }
  }
  let file = open()
  let isTorn = false
  const reopen = () => {
    // A number that is closed may become a socket's: the old file stays open until there is a new one.
    const opened = open()
    closeSync(file)
    file = opened
  }
  return {
    append(line) {
      if (isTorn || isElsewhere(file, path)) reopen()
      const bytes = Buffer.from(`${line}\n`)
      const { size } = fstatSync(file)
      if (size > 0 && size + bytes.length > maxBytes) {
        rotate(path, oldFiles)
        reopen()
      }
      // One write, so that lines of two processes do not mix; what is left of it comes after.
      isTorn = true
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
      isTorn = false
    },
    close: () => closeSync(file),
  }
}

/** A process that was killed, or a full disk, may have left half a line: what follows begins a new one. */
function endTornLine(file: number): void {
  const { size } = fstatSync(file)
  if (size === 0) return
  const last = Buffer.alloc(1)
  readSync(file, last, 0, 1, size - 1)
  if (last.toString() !== '\n') writeSync(file, '\n')
}

function isElsewhere(file: number, path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false })
  const here = fstatSync(file)
  return there?.ino !== here.ino || there.dev !== here.dev
}

function rotate(path: string, oldFiles: number): void {
  const nameOf = (age: number) => (age === 0 ? path : `${path}.${age}`)
  rmSync(nameOf(oldFiles), { force: true })
  for (let age = oldFiles - 1; age >= 0; age--) {
    if (statSync(nameOf(age), { throwIfNoEntry: false }) === undefined) continue
    renameSync(nameOf(age), nameOf(age + 1))
  }
}
