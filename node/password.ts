import type { ReadStream, WriteStream } from 'node:tty'
import { SvcError } from '../lib/svc-error.ts'
import type { Environment } from './config.ts'

/** The terminal that a password may be asked on. */
export type Terminal = { readonly input: ReadStream; readonly output: WriteStream }

/** The keystore's password: SVC_KEY_PASSWORD, else asked on the terminal without echo; throws SvcError `password-missing` (spec 5). */
export async function askPassword(
  environment: Environment,
  terminal: Terminal,
  isNew = false,
): Promise<string> {
  if (environment.SVC_KEY_PASSWORD) return environment.SVC_KEY_PASSWORD
  if (!terminal.input.isTTY) throw missing('SVC_KEY_PASSWORD is not set')
  const password = await readHidden(terminal, 'Keystore password: ')
  if (password === '') throw missing('no password was given')
  if (isNew && (await readHidden(terminal, 'The same again: ')) !== password) {
    throw missing('the two passwords differ')
  }
  return password
}

const missing = (why: string): SvcError =>
  new SvcError('password-missing', `the keystore needs a password, but ${why}`, {
    hint: 'Set SVC_KEY_PASSWORD, or start svc-node on a terminal.',
  })

function readHidden({ input, output }: Terminal, prompt: string): Promise<string> {
  output.write(prompt)
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (end: () => void) => {
      input.off('data', onData)
      input.setRawMode(false)
      input.pause()
      output.write('\n')
      end()
    }
    const onData = (chunk: Buffer) => {
      for (const character of chunk.toString('utf8')) {
        if (character === '\r' || character === '\n') return finish(() => resolve(typed))
        if (character === '\u0003') return finish(() => reject(missing('it was interrupted')))
        if (character === '\u007f' || character === '\b') typed = typed.slice(0, -1)
        else typed += character
      }
    }
    input.setRawMode(true)
    input.resume()
    input.on('data', onData)
  })
}
