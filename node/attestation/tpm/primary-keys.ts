import { createTpmWriter, TpmFormatError } from '../../../lib/tpm/bytes.ts'
import { type PublicArea, parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { kindOf, responseCode, TpmRefusedError } from './response-code.ts'
import { emptyPassword, type Tpm } from './tpm-command.ts'

/** The hierarchy of the vendor's seed, which survives TPM2_Clear. */
export const endorsementHierarchy = 0x4000_000b

/** A key in the TPM. */
export type TpmKey = { readonly handle: number; readonly area: PublicArea }

/** Makes a template's primary key in the endorsement hierarchy, the same one every time. The caller must flush it. */
export async function createPrimaryKey(tpm: Tpm, template: Uint8Array): Promise<TpmKey> {
  const emptySensitive = createTpmWriter().sized(new Uint8Array()).sized(new Uint8Array()).done()
  const noOutsideData = new Uint8Array()
  const noPcrs = 0
  const { handle, parameters } = await tpm.send({
    name: 'CreatePrimary',
    handles: [endorsementHierarchy],
    authorizations: [emptyPassword],
    parameters: createTpmWriter()
      .sized(emptySensitive)
      .sized(template)
      .sized(noOutsideData)
      .u32(noPcrs)
      .done(),
    givesHandle: true,
  })
  return { handle, area: parsePublicArea(parameters.sized()) }
}

/** Reads the public area of a key in the TPM, undefined when there is none at the handle, or one of another kind. */
export async function readPublic(tpm: Tpm, handle: number): Promise<PublicArea | undefined> {
  try {
    const { parameters } = await tpm.send({ name: 'ReadPublic', handles: [handle] })
    return parsePublicArea(parameters.sized())
  } catch (error) {
    if (error instanceof TpmRefusedError && kindOf(error.responseCode) === responseCode.handle)
      return
    if (error instanceof TpmFormatError) return
    throw error
  }
}
