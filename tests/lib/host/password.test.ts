import { chmod, chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { askPassword, givenPassword, type Terminal } from '../../../lib/host/password.ts'
import { quietContext } from '../../node/commands/context.ts'
import { fileFolder } from '../../test-folder.ts'

const folder = fileFolder()
const path = join(folder, 'password')

const read = async (content: string | Uint8Array, mode = 0o600) => {
  await writeFile(path, content)
  await chmod(path, mode)
  const warned: string[] = []
  const password = await givenPassword({ SVC_KEY_PASSWORD_FILE: path }, (line) => warned.push(line))
  return { password, warned }
}

describe('the password file', () => {
  it('gives the password without line breaks at its end and a byte order mark, and nothing else is cut', async () => {
    expect(await read('correct horse\n')).toEqual({ password: 'correct horse', warned: [] })
    expect((await read('\ufeffcorrect horse\r\n\n')).password).toBe('correct horse')
    const utf16 = Buffer.from('\ufeffcorrect h\u00f6rse\r\n', 'utf16le')
    expect((await read(utf16)).password).toBe('correct h\u00f6rse')
    expect((await read(' two\nlines \r\n')).password).toBe(' two\nlines ')
    expect((await read('bare', 0o400)).warned).toEqual([])
  })

  it('is warned of when others may read it', async () => {
    const { password, warned } = await read('open', 0o644)
    expect(password).toBe('open')
    expect(warned).toEqual([`warning: others may read ${path} (mode 0644): chmod 600 ${path}`])
    expect((await read('group', 0o640)).warned).toHaveLength(1)
  })

  it.skipIf(process.getuid?.() !== 0)(
    "is not warned of when another user owns it and its group may read it, as systemd's are (as root only)",
    async () => {
      await writeFile(path, 'credential', { mode: 0o600 })
      await chown(path, 65_534, 65_534)
      await chmod(path, 0o440)
      const warned: string[] = []
      const env = { SVC_KEY_PASSWORD_FILE: path }
      expect(await givenPassword(env, (line) => warned.push(line))).toBe('credential')
      expect(warned).toEqual([])
    },
  )

  it('is refused when it is empty, too large, no text or missing', async () => {
    const refused = { code: 'password-file-unreadable' }
    await expect(read('\n')).rejects.toMatchObject(refused)
    await expect(read('x'.repeat(5_000))).rejects.toMatchObject(refused)
    await expect(read(Buffer.from('h\u00f6rse', 'latin1'))).rejects.toThrow(
      'it is no text in UTF-8',
    )
    for (const file of [join(folder, 'none'), folder]) {
      const env = { SVC_KEY_PASSWORD_FILE: file }
      await expect(givenPassword(env, () => {})).rejects.toMatchObject(refused)
    }
  })

  it('comes after SVC_KEY_PASSWORD', async () => {
    const env = { SVC_KEY_PASSWORD: 'first', SVC_KEY_PASSWORD_FILE: path }
    expect(await askPassword(env, quietContext({}).terminal)).toBe('first')
  })

  it('is named when there is no password and nobody to ask', async () => {
    await expect(askPassword({}, quietContext({}).terminal)).rejects.toMatchObject({
      code: 'password-missing',
      hint: expect.stringContaining('SVC_KEY_PASSWORD_FILE'),
    })
  })
})

describe('the password that is typed', () => {
  /** Asks on a terminal on which these bytes are typed, a chunk at a time. */
  const typing = async (...chunks: readonly (string | Uint8Array)[]) => {
    const raw: boolean[] = []
    const shown: string[] = []
    const input = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (mode: boolean) => raw.push(mode),
    })
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
    const isAsked = Promise.withResolvers<void>()
    output.on('data', (text) => {
      shown.push(String(text))
      isAsked.resolve()
    })
    const asked = askPassword({}, { input, output } as unknown as Terminal)
    await isAsked.promise
    for (const chunk of chunks) input.write(chunk)
    const password = await asked.catch((error: unknown) => error)
    return { password, raw, shown: shown.join('') }
  }

  it('is what was typed, without echo, whatever was taken back', async () => {
    const { password, raw, shown } = await typing('correct hors', 'x\u007fe\r')
    expect(password).toBe('correct horse')
    expect(raw.at(-1)).toBe(false)
    expect(shown).toContain('Keystore password')
    expect(shown).not.toMatch(/correct|hors/)
    expect((await typing('a\u{1f40e}\u007fb\r')).password).toBe('ab')
    const horse = new TextEncoder().encode('\u{1f40e}\r')
    expect((await typing(horse.slice(0, 2), horse.slice(2))).password).toBe('\u{1f40e}')
  })

  it('is none after Ctrl-C or Ctrl-D, and the terminal is as before', async () => {
    for (const end of ['\u0003', '\u0004', '\r']) {
      const { password, raw } = await typing(end)
      expect([end, password]).toEqual([end, expect.objectContaining({ code: 'password-missing' })])
      expect(raw.at(-1)).toBe(false)
    }
  })
})
