import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as Keystore from 'ox/Keystore'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { minScryptN, readKeystore, writeKeystore } from '../../../lib/host/keystore.ts'
import { systemRandom } from '../../../lib/system.ts'
import { fileFolder } from '../../test-folder.ts'

const privateKey = `0x${'42'.repeat(32)}` as const
const password = 'correct horse'

const folder = fileFolder()
const path = join(folder, 'new', 'keystore.json')

const opened = (path: string, password: string, warned: string[] = []) =>
  readKeystore(path, password, (line) => warned.push(line))

describe('the keystore', () => {
  it('gives back what was sealed, to its password only', async () => {
    const wallet = { privateKey, password, scryptN: minScryptN }
    const address = await writeKeystore(path, wallet, systemRandom)
    expect(address).toBe(privateKeyToAccount(privateKey).address.toLowerCase() as `0x${string}`)
    expect(await opened(path, password)).toBe(privateKey)
    await expect(opened(path, 'wrong')).rejects.toMatchObject({
      code: 'keystore-password-wrong',
    })
  })

  it('opens with its password in either Unicode normal form, and the error names white space at an end', async () => {
    for (const sealed of ['schl\u00fcssel', 'schlu\u0308ssel']) {
      const place = join(folder, `form-${sealed.length}.json`)
      await writeKeystore(
        place,
        { privateKey, password: sealed, scryptN: minScryptN },
        systemRandom,
      )
      for (const form of ['NFC', 'NFD']) {
        expect(await opened(place, sealed.normalize(form))).toBe(privateKey)
      }
      const hint = expect.stringContaining('The password has white space at an end.')
      await expect(opened(place, `${sealed} `)).rejects.toMatchObject({ hint })
    }
  })

  it('is readable by its owner only, and never shows the key', async () => {
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder, 'new'))).mode & 0o777).toBe(0o700)
    expect(await readFile(path, 'utf8')).not.toContain('42'.repeat(32))
  })

  it('that others may read is opened with a warning, and only that', async () => {
    const warned: string[] = []
    await opened(path, password, warned)
    expect(warned).toEqual([])
    const shared = join(folder, 'shared.json')
    await writeFile(shared, await readFile(path), { mode: 0o640 })
    await opened(shared, password, warned)
    expect(warned).toEqual([`warning: others may read ${shared} (mode 0640): chmod 600 ${shared}`])
  })

  it('is a Web3 Secret Storage v3 file that other wallets open', async () => {
    const keystore = JSON.parse(await readFile(path, 'utf8'))
    expect(keystore).toMatchObject({ version: 3, crypto: { kdf: 'scrypt' } })
    expect(Keystore.decrypt(keystore, Keystore.toKey(keystore, { password }))).toBe(privateKey)
  })

  it('opens the published test vector of the format', async () => {
    const vector = join(folder, 'vector.json')
    await writeFile(
      vector,
      JSON.stringify({
        crypto: {
          cipher: 'aes-128-ctr',
          cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
          ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
          kdf: 'scrypt',
          kdfparams: {
            dklen: 32,
            n: 262_144,
            p: 8,
            r: 1,
            salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
          },
          mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
        },
        id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
        version: 3,
      }),
    )
    expect(await opened(vector, 'testpassword')).toBe(
      '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d',
    )
  })

  it('is refused when it names another address than its key has', async () => {
    const changed = join(folder, 'changed.json')
    const sealed = JSON.parse(await readFile(path, 'utf8'))
    for (const address of ['99'.repeat(20), 'nobody']) {
      await writeFile(changed, JSON.stringify({ ...sealed, address }))
      await expect(opened(changed, password)).rejects.toMatchObject({
        code: 'keystore-invalid',
      })
    }
    await writeFile(changed, JSON.stringify({ ...sealed, address: `0x${sealed.address}` }))
    expect(await opened(changed, password)).toBe(privateKey)
  })

  it('may be damaged where its password does not open it, and is restored from a backup', async () => {
    const damaged = join(folder, 'damaged.json')
    const text = await readFile(path, 'utf8')
    const { ciphertext } = JSON.parse(text).crypto
    await writeFile(damaged, text.replace(ciphertext, `${'0'.repeat(63)}1`))
    await expect(opened(damaged, password)).rejects.toMatchObject({
      message: expect.stringContaining('or the file is damaged'),
      hint: expect.stringContaining('restore the keystore from a backup'),
    })
    await writeFile(damaged, text.slice(0, 100))
    await expect(opened(damaged, password)).rejects.toMatchObject({
      hint: expect.stringContaining('Restore the keystore from a backup'),
    })
  })

  it('says what is wrong with a file that is no keystore', async () => {
    const broken = join(folder, 'broken.json')
    await writeFile(broken, '{"version":3}')
    await expect(opened(broken, password)).rejects.toMatchObject({
      code: 'keystore-invalid',
      message: expect.stringMatching(/with scrypt\. Wrong or missing: id, crypto$/),
    })
    await writeFile(broken, 'not json')
    await expect(opened(broken, password)).rejects.toMatchObject({ code: 'file-unreadable' })
    await expect(opened(join(folder, 'none'), password)).rejects.toMatchObject({
      code: 'keystore-missing',
    })
  })
})
