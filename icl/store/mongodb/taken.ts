import { MongoServerError } from 'mongodb'

const duplicateKey = 11_000

/** Inserts, or answers false when there is a document with this id. */
export async function unlessTaken<T>(insert: () => Promise<T>): Promise<T | false> {
  try {
    return await insert()
  } catch (error) {
    if (error instanceof MongoServerError && error.code === duplicateKey) return false
    throw error
  }
}
