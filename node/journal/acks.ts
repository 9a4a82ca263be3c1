import { dirname, join } from 'node:path'
import { z } from 'zod'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { ownerOnly, writeWhole } from '../../lib/host/write-whole.ts'
import { Ack } from '../../lib/schemas/statements.ts'
import { openRotatingFile, orUnusable } from '../rotating-file.ts'
import { parseLines, readText } from './json-lines.ts'

/** Keeps the ICL's acknowledgements. */
export interface Acks {
  /** Adds an acknowledgement. Throws file system errors. */
  keep(ack: Ack): void
}

const daySeconds = 86_400
/** How long an acknowledgement is kept: as long as an ICL keeps a job by default. */
const keptSeconds = 30 * daySeconds
/** The limit of each of the two files, about 65,000 acknowledgements. */
const maxFileBytes = 32 * 1_048_576

/** Returns the path of the acknowledgements, beside the configuration. */
export const acksPathOf = (configPath: string): string => join(dirname(configPath), 'acks.jsonl')

/**
 * Opens the file of acknowledgements (mode 0600, one a line), and drops those older than 30 days, now and once a day. A full file replaces
 * `.1`. Throws SvcError `acks-unusable`.
 */
export function openAcks(
  path: string,
  clock: Pick<Clock, 'now'>,
  maxBytes = maxFileBytes,
): Acks & { close(): void } {
  const prune = (now: number) => {
    for (const file of [`${path}.1`, path]) pruneFile(file, now)
  }
  let prunedAt = unixSeconds(clock)
  const open = () => {
    prune(prunedAt)
    return openRotatingFile({ path, maxBytes, oldFiles: 1 })
  }
  const file = orUnusable('acks-unusable', `the file of acknowledgements ${path}`, open, {
    hint: 'Check the disk, and who owns the file. It is for disputes about receipts alone: it may be moved away.',
  })
  return {
    keep(ack) {
      // A clock that leaps ahead must not end what the ICL has dated. An ICL that is ahead ends nothing either.
      const now = Math.min(unixSeconds(clock), ack.body.at)
      if (now - prunedAt > daySeconds) {
        prunedAt = now
        prune(now)
      }
      file.append(JSON.stringify(z.encode(Ack, ack)))
    },
    close: () => file.close(),
  }
}

function pruneFile(path: string, now: number): void {
  const { records, skipped } = parseLines(readText(path), Ack)
  const kept = records.filter(({ body }) => body.at > now - keptSeconds)
  if (kept.length === records.length && skipped === 0) return
  const lines = kept.map((ack) => `${JSON.stringify(z.encode(Ack, ack))}\n`)
  writeWhole(path, lines.join(''), ownerOnly)
}
