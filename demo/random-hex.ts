import { systemRandom } from '../lib/system.ts'

/** Returns 32 random bytes in hex, without 0x. */
export const randomHex = (): string => Buffer.from(systemRandom.bytes(32)).toString('hex')
