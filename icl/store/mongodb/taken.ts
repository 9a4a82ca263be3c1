import { MongoBulkWriteError, MongoServerError } from 'mongodb'

/** The code of an error for an id that is taken. */
export const duplicateKey = 11_000

/** Runs an insert; returns false when there is a document with its id already. */
export async function unlessTaken<T>(insert: () => Promise<T>): Promise<T | false> {
  try {
    return await insert()
  } catch (error) {
    if (isTaken(error)) return false
    // The driver wraps the error that fails a command with many inserts.
    const cause = error instanceof MongoBulkWriteError ? error.errorResponse : undefined
    throw cause instanceof Error ? cause : error
  }
}

/** True when inserts failed only because their ids are taken. */
function isTaken(error: unknown): boolean {
  if (!(error instanceof MongoServerError && error.code === duplicateKey)) return false
  if (!(error instanceof MongoBulkWriteError)) return true
  return [error.writeErrors].flat().every(({ code }) => code === duplicateKey)
}
