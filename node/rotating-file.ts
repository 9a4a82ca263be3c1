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
import { errorMessage } from '../lib/error-message.ts'
import { SvcError } from '../lib/svc-error.ts'

/** A file of lines that is rotated when it is full. A written line survives the end of this process. */
export type RotatingFile = {
  /** Writes one line. Throws file system errors. */
  append(line: string): void
  close(): void
}

/** The path, the size limit, and how many full files are kept as `.1`, `.2` and so on. */
export type RotatingFileOptions = {
  readonly path: string
  readonly maxBytes: number
  readonly oldFiles: number
}

/** Opens a file of lines (mode 0600). When another program moves the file away, the next line starts a new one. */
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
    // A closed descriptor number may be reused for a socket, so the old file stays open until there is a new one.
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
      // One write, so that lines of two processes do not mix. A short write is continued.
      isTorn = true
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
      isTorn = false
    },
    close: () => closeSync(file),
  }
}

/** Ends a half-written last line, which a kill or a full disk may leave, so that the next line is whole. */
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

/** Runs `work` and names the file in its errors. Throws SvcError `code` in place of file system errors. */
export function orUnusable<T>(
  code: string,
  file: string,
  work: () => T,
  { hint }: { readonly hint: string },
): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof SvcError) throw error
    throw new SvcError(code, `${file} cannot be used: ${errorMessage(error)}`, {
      hint,
      cause: error,
    })
  }
}
