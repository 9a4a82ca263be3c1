import { z } from 'zod'
import { toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import { keyOf, parseHeld, prefixOf } from '../records/keys.ts'
import { forever } from '../store/forever.ts'
import type { AdminContext } from './context.ts'

/** A command of an operator, and its time (milliseconds). */
const AuditEntry = z.object({ at: z.number(), operator: z.string(), command: z.string() })
export type AuditEntry = z.output<typeof AuditEntry>

const timeDigits = 15

/** Records a command before it changes anything, so that no change is unseen. */
export async function recordCommand(context: AdminContext, command: string): Promise<void> {
  const { store, clock, random, operator } = context
  const at = clock.now()
  const unique = toBase64Url(random.bytes(9))
  const key = keyOf('audit', String(at).padStart(timeDigits, '0'), unique)
  const value = JSON.stringify({ at, operator, command })
  if (await store.save({ kind: 'key', key, value, now: at, expiresAt: forever })) return
  throw new ProblemError('unavailable', 'The command could not be recorded. Try again')
}

/** Lists the last commands, the newest first. Throws SvcError `store-corrupt`. */
export async function listCommands(
  { store, clock }: AdminContext,
  limit: number,
): Promise<readonly AuditEntry[]> {
  const held = await store.listKeys(prefixOf('audit'), clock.now())
  return held
    .slice(-limit)
    .reverse()
    .map(({ key, value }) => parseHeld(AuditEntry, value, `The record ${key}`))
}
