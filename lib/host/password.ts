import { open } from 'node:fs/promises'
import type { ReadStream, WriteStream } from 'node:tty'
import { errorMessage } from '../error-message.ts'
import { SvcError } from '../svc-error.ts'
import { exposedMode, exposureWarning } from './private-files.ts'

/** The environment variables with a password, or with the name of its file. */
export type PasswordEnvironment = {
  readonly SVC_KEY_PASSWORD?: string | undefined
  readonly SVC_KEY_PASSWORD_FILE?: string | undefined
}

/** The terminal to ask for a password. */
export type Terminal = { readonly input: ReadStream; readonly output: WriteStream }

const maxFileBytes = 4_096

/** Returns SVC_KEY_PASSWORD, else the content of SVC_KEY_PASSWORD_FILE, else asks, hidden; throws SvcError `password-...` (spec 5). */
export async function askPassword(
  environment: PasswordEnvironment,
  terminal: Terminal,
): Promise<string> {
  const given = await givenPassword(environment, (line) => terminal.output.write(`${line}\n`))
  if (given !== undefined) return given
  if (!terminal.input.isTTY) {
    throw passwordMissing(
      'neither SVC_KEY_PASSWORD nor SVC_KEY_PASSWORD_FILE is set',
      'Set SVC_KEY_PASSWORD or SVC_KEY_PASSWORD_FILE, or start svc-node on a terminal.',
    )
  }
  const password = await readHidden(terminal)
  if (password === '') throw passwordMissing('none was given', 'Try again, and type it.')
  return password
}

/** Returns the password from the environment or the file that it names; undefined when neither is set. Throws SvcError. */
export async function givenPassword(
  { SVC_KEY_PASSWORD: password, SVC_KEY_PASSWORD_FILE: path }: PasswordEnvironment,
  warn: (line: string) => void,
): Promise<string | undefined> {
  if (password) return password
  if (!path) return undefined
  return await readPasswordFile(path, warn)
}

/** Reads a password without the line breaks at its end. Warns when others may read the file too. */
async function readPasswordFile(path: string, warn: (line: string) => void): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, errorMessage(error))
  })
  try {
    const stat = await file.stat()
    if (stat.isDirectory()) throw unreadable(path, 'it is a folder')
    const { size, uid } = stat
    if (size > maxFileBytes) throw unreadable(path, `it has more than ${maxFileBytes} bytes`)
    // A systemd credential belongs to root, and grants this user access through the group bits.
    const forbidden = uid === process.getuid?.() ? 0o077 : 0o007
    const exposed = exposedMode(stat, forbidden)
    if (exposed !== undefined) warn(exposureWarning(path, exposed))
    const bytes = await file.readFile().catch((error: unknown) => {
      throw unreadable(path, errorMessage(error))
    })
    const password = textOf(path, bytes).replace(/[\r\n]+$/, '')
    if (password === '') throw unreadable(path, 'it is empty')
    return password
  } finally {
    await file.close()
  }
}

/** Decodes UTF-8, or the UTF-16 that Windows PowerShell writes, without a byte order mark. */
function textOf(path: string, bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
  try {
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unreadable(path, 'it is no text in UTF-8')
  }
}

const unreadable = (path: string, why: string): SvcError =>
  new SvcError('password-file-unreadable', `the password file ${path} cannot be used: ${why}`, {
    hint: 'Correct SVC_KEY_PASSWORD_FILE, or the owner, the mode and the text of the file.',
  })

/** Makes the error for a missing password. */
export const passwordMissing = (why: string, hint: string): SvcError =>
  new SvcError('password-missing', `the keystore needs a password, but ${why}`, { hint })

/** Reads a password on a terminal, showing a mark for each character. */
async function readHidden({ input, output }: Terminal): Promise<string> {
  const clack = await import('@clack/prompts')
  const ended = new AbortController()
  // Without this the library would wait forever.
  const endOnCtrlD = (_: unknown, key: { readonly ctrl: boolean; readonly name?: string }) => {
    if (key.ctrl && key.name === 'd') ended.abort()
  }
  const end = () => ended.abort()
  input.on('keypress', endOnCtrlD).once('end', end)
  try {
    const { signal } = ended
    const typed = await clack.password({ message: 'Keystore password', input, output, signal })
    if (clack.isCancel(typed)) throw passwordMissing('it was interrupted', 'Start it again.')
    return typed ?? ''
  } finally {
    input.off('keypress', endOnCtrlD).off('end', end)
  }
}
