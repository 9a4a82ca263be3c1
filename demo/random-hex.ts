import { systemRandom } from '../lib/system.ts'

/** 32 random bytes in hex, without 0x. */
export const randomHex = (): string => Buffer.from(systemRandom.bytes(32)).toString('hex')
