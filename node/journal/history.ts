import { dirname, join } from 'node:path'
import { z } from 'zod'
import { Address, JobId, ModelId, UnixSeconds } from '../../lib/codecs.ts'
import { Role } from '../../lib/schemas/jobs.ts'
import { sumOf } from '../inference/usage.ts'
import { openRotatingFile, orUnusable } from '../rotating-file.ts'
import { parseLines, readText } from './json-lines.ts'
import { nameOf } from './read-journal.ts'

const Count = z.int().min(0)

const JobRecord = z.object({
  jobId: JobId,
  role: Role,
  model_id: ModelId,
  fence: z.int().min(1),
  started_at: UnixSeconds,
  ended_at: UnixSeconds.optional(),
  outcome: z.enum([
    'running',
    'answered',
    'result-posted',
    'match',
    'no-match',
    'aborted',
    'given-up',
  ]),
  /** The abort reason, the verdict's reason, or why the node gave the job up or got no further than an answer. */
  reason: z.string().max(1_000).optional(),
  /** The node whose delivery this node posted or checked last. */
  deliverer: Address.optional(),
  /** Tokens as the provider counted them. A line holds those of one answer, and reading adds them up. */
  usage: z.object({ input_tokens: Count, output_tokens: Count }).optional(),
})

/** One job that this node took part in. Times are Unix seconds. */
export type JobRecord = Readonly<z.output<typeof JobRecord>>

/** Keeps the outcomes of the node's jobs. */
export interface History {
  /** Adds a line. The latest line of a job and fence counts. */
  append(record: JobRecord): void
}

const maxBytes = 1024 * 1024
const oldFiles = 1

/** Returns the path of the history, beside the configuration. */
export const historyPathOf = (configPath: string): string => join(dirname(configPath), 'jobs.jsonl')

/** Opens the history (mode 0600, at most 2 files of 1 MiB). Throws SvcError `history-unusable`. `append` throws file system errors. */
export function openHistory(path: string): History & { close(): void } {
  const file = usable(path, () => openRotatingFile({ path, maxBytes, oldFiles }))
  return {
    append: (record) => file.append(JSON.stringify(z.encode(JobRecord, record))),
    close: () => file.close(),
  }
}

/** Returns the last `limit` jobs, oldest first. Reports skipped unreadable lines to `onSkipped`. Throws SvcError `history-unusable`. */
export async function readHistory(
  path: string,
  limit = Number.POSITIVE_INFINITY,
  onSkipped: (lines: number) => void = () => {},
): Promise<readonly JobRecord[]> {
  const texts = usable(path, () => [`${path}.1`, path].map(readText))
  const { records, skipped } = parseLines(texts.join(''), JobRecord)
  // A job keeps its place in the map, so jobs are in the order of their starts.
  const latest = new Map<string, JobRecord>()
  for (const record of records) {
    const key = nameOf(record)
    const usages = [latest.get(key)?.usage, record.usage].filter((usage) => usage !== undefined)
    latest.set(key, usages.length > 0 ? { ...record, usage: sumOf(usages) } : record)
  }
  if (skipped > 0) onSkipped(skipped)
  return limit > 0 ? [...latest.values()].slice(-limit) : []
}

const usable = <T>(path: string, work: () => T): T =>
  orUnusable('history-unusable', `the job history ${path}`, work, {
    hint: 'Check the disk, and who owns the file. It is for the operator alone: it may be moved away.',
  })
