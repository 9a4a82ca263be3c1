import { MongoBulkWriteError, MongoServerError } from 'mongodb'

const duplicateKey = 11_000

/** Inserts, or answers false when there is a document with this id. */
export async function unlessTaken<T>(insert: () => Promise<T>): Promise<T | false> {
  try {
    return await insert()
  } catch (error) {
    if (isTaken(error)) return false
    // The driver wraps what breaks the command that inserts many.
    const cause = error instanceof MongoBulkWriteError ? error.errorResponse : undefined
    throw cause instanceof Error ? cause : error
  }
}

/** True when nothing but documents that are there kept some from being inserted. */
function isTaken(error: unknown): boolean {
  if (!(error instanceof MongoServerError && error.code === duplicateKey)) return false
  if (!(error instanceof MongoBulkWriteError)) return true
  return [error.writeErrors].flat().every(({ code }) => code === duplicateKey)
}
