import { Address, Hash32, JobId } from '../lib/codecs.ts'

/** An address from its text. */
export const anAddress = (text: string): Address => Address.parse(text)
/** A hash from its text. */
export const aHash = (text: string): Hash32 => Hash32.parse(text)
/** A job's id from its text. */
export const aJobId = (text: string): JobId => JobId.parse(text)
