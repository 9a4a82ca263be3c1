import { Binary, Timestamp } from 'mongodb'
import { z } from 'zod'
import { JobId } from '../../../lib/codecs.ts'
import { JobPhase } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { decodeDocumentOf, type Document as StoreDocument } from '../encoding.ts'

const Id = z.string()
const Version = z.int().positive()
const Time = z.number()

const Document = z.object({ _id: Id, document: z.string() })
export const VersionedDocument = Document.extend({ version: Version })
export const JobIdRow = z.object({ _id: JobId })
export const JobPosition = z.object({ _id: Id, createdAt: Time })
export const EventPosition = z.object({ _id: Id, at: Time })
export const ChangeRow = JobIdRow.extend({
  version: Version,
  occupied: z.array(z.string()),
  changed: z.instanceof(Timestamp),
})
export const OccupiedCount = z.object({ _id: z.string(), count: z.int() })
export const PhaseCount = z.object({ _id: JobPhase, jobs: z.int() })
export const EffectSum = z.object({ effects: z.int() })
export const EffectRow = z.object({ effectsDueAt: Time })
export const HeldKeyRow = z.object({ _id: Id, value: z.string(), expiresAt: Time })
export const BlobBytes = z.object({ bytes: z.instanceof(Binary) })
export const WholeBlob = BlobBytes.extend({
  _id: Id,
  uploader: z.enum(['wallet', 'node', 'icl']),
  until: Time,
})
export const ByteCount = z.object({ bytes: z.number() })

/** Parses a value from the database; throws SvcError `store-corrupt` when this program did not write it. */
export function parseRow<T>(schema: z.ZodType<T>, row: unknown): T {
  const parsed = schema.safeParse(row)
  if (parsed.success) return parsed.data
  const where = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  throw corrupt(row, where.join('; '))
}

/** Decodes the document of a row; throws SvcError `store-corrupt`. */
export function documentOf<T extends StoreDocument>(row: unknown): T {
  const { _id, document } = parseRow(Document, row)
  try {
    return decodeDocumentOf<T>(_id, document)
  } catch {
    // The cause is left out, because its message would quote the document.
    throw corrupt(row, 'its document is not one that an ICL wrote')
  }
}

const corrupt = (row: unknown, why: string): SvcError => {
  const id = z.object({ _id: z.string() }).safeParse(row).data?._id
  return new SvcError(
    'store-corrupt',
    `The database holds ${id ?? 'a row'} in no known form: ${why}`,
    {
      hint: 'Another program wrote to this database, or it is damaged. Restore a backup.',
    },
  )
}

/** Returns a copy of the bytes, which the driver does not share. */
export const bytesOf = ({ bytes }: z.output<typeof BlobBytes>): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(bytes.value())
