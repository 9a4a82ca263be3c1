import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errorMessage } from '../../../lib/error-message.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { codeOfSystemError } from './system-error.ts'
import { largestAnswerBytes, type TpmTransport, transportFailed } from './transport.ts'

const headerBytes = 10

/** Opens a character device such as `/dev/tpmrm0`: a write is a command, the next read its response. Throws SvcErrors with a remedy. */
export async function openTpmFile(path: string): Promise<TpmTransport> {
  const file = await open(path, constants.O_RDWR | constants.O_NOCTTY).catch((error: unknown) => {
    throw cannotOpen(path, error)
  })
  // A command would overwrite any other file, such as a keystore.
  const isDevice = await file.stat().then(
    (found) => found.isCharacterDevice(),
    () => false,
  )
  if (!isDevice) {
    await file.close()
    throw cannotOpen(path, 'it is no device')
  }
  let underWay: Promise<unknown> = Promise.resolve()
  const exchange = async (command: Uint8Array): Promise<Uint8Array> => {
    try {
      const { bytesWritten } = await file.write(command, 0, command.length, null)
      if (bytesWritten !== command.length) throw new Error('it took only a part of a command')
      return await readAnswer(file)
    } catch (error) {
      throw transportFailed(path, errorMessage(error), error)
    }
  }
  return {
    transmit(command, signal) {
      signal.throwIfAborted()
      const answer = exchange(command)
      underWay = answer.catch(() => {})
      return answer
    },
    // The kernel cannot cancel a command. The file is closed when the command has ended, and no caller waits for that.
    close: async () => {
      void underWay.then(() => file.close()).catch(() => {})
    },
  }
}

async function readAnswer(file: FileHandle): Promise<Uint8Array> {
  const answer = new Uint8Array(largestAnswerBytes)
  let length = 0
  let expected = headerBytes
  while (length < expected) {
    const { bytesRead } = await file.read(answer, length, answer.length - length, null)
    if (bytesRead === 0) throw new Error('its answer ends too early')
    length += bytesRead
    if (length >= headerBytes) expected = new DataView(answer.buffer).getUint32(2)
    if (expected > answer.length) throw new Error('its answer is too long')
  }
  return answer.slice(0, length)
}

function cannotOpen(path: string, error: unknown): SvcError {
  const code = codeOfSystemError(error)
  if (code === 'EACCES' || code === 'EPERM') {
    return new SvcError('tpm-permission', `this user may not use the TPM at ${path}`, {
      hint: 'Add the user to the group of the device, mostly tss: `sudo usermod -aG tss USER`. Then log in again, or restart the service.',
      cause: error,
    })
  }
  if (code === 'EBUSY') {
    return new SvcError('tpm-busy', `another program has the TPM at ${path}`, {
      hint: 'Use /dev/tpmrm0, which programs share, or stop the other one.',
      retryable: true,
      cause: error,
    })
  }
  return new SvcError('tpm-not-found', `there is no TPM 2.0 at ${path} (${code ?? error})`, {
    hint: 'Turn the TPM on in the firmware set-up (fTPM, PTT or Security Device), or give the virtual machine a vTPM. Check with `ls /dev/tpm*`.',
    cause: error,
  })
}
