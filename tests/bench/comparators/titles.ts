import { embeddingLabel } from './embedding-stand-in.ts'

/** What stands over the figures of a comparator. */
export const titleOf = (id: string): string =>
  id.startsWith('semantic') ? `${id} with a ${embeddingLabel}` : id

/** The comparator's name as a part of a file's. */
export const fileNameOf = (id: string): string => id.replaceAll('/', '-')
