import { MongoBulkWriteError, MongoServerError } from 'mongodb'

/** The code of an error for an id that is taken. */
export const duplicateKey = 11_000
const immutableField = 66

/**
 * Makes an update that has to find its row fail when it does not, which alone keeps the later updates of the same command from being
 * made. With `upsert` the server inserts a row then, and refuses that because this names another id.
 */
export const orFail = { $setOnInsert: { _id: 'none' } }

/** Runs an insert; returns false when there is a document with its id already. */
export async function unlessTaken<T>(insert: () => Promise<T>): Promise<T | false> {
  try {
    return await insert()
  } catch (error) {
    if (error instanceof MongoServerError && error.code === duplicateKey) return false
    throw error
  }
}

/** Runs updates in order; returns the index of the first one that the server refuses for its id. None after it is made. */
export async function firstRefused(updates: () => Promise<unknown>): Promise<number | undefined> {
  try {
    await updates()
    return undefined
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error
    const [refused] = [error.writeErrors].flat()
    if (refused?.code === duplicateKey || refused?.code === immutableField) return refused.index
    // The driver wraps the error that fails a whole command.
    const cause = error.errorResponse
    throw cause instanceof Error ? cause : error
  }
}
