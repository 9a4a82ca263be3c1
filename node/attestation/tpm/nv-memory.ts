import { concatBytes } from '../../../lib/digest.ts'
import { createTpmReader, createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { kindOf, responseCode, TpmRefusedError } from './response-code.ts'
import { emptyPassword, type Tpm } from './tpm-command.ts'

const readBytes = 512

/** Reads what the vendor wrote at an NV index, undefined when there is nothing. */
export async function readNv(
  tpm: Tpm,
  index: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const size = await sizeOf(tpm, index)
  if (size === undefined) return undefined
  const parts: Uint8Array[] = []
  for (let offset = 0; offset < size; offset += readBytes) {
    const { parameters } = await tpm.send({
      name: 'NV_Read',
      handles: [index, index],
      authorizations: [emptyPassword],
      parameters: createTpmWriter()
        .u16(Math.min(readBytes, size - offset))
        .u16(offset)
        .done(),
    })
    parts.push(parameters.sized(readBytes))
  }
  return concatBytes(...parts)
}

async function sizeOf(tpm: Tpm, index: number): Promise<number | undefined> {
  try {
    const { parameters } = await tpm.send({ name: 'NV_ReadPublic', handles: [index] })
    const area = createTpmReader(parameters.sized())
    area.u32()
    area.u16()
    area.u32()
    area.sized(64)
    return area.u16()
  } catch (error) {
    if (error instanceof TpmRefusedError && kindOf(error.responseCode) === responseCode.handle)
      return
    throw error
  }
}
