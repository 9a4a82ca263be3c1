import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseLines } from './json-lines.ts'
import { JournalStep } from './steps.ts'

const checksumCharacters = 16

/** What shows that a line is as it was written: a disk may change bytes, and leave JSON that can be read. */
const checksumOf = (json: string): string =>
  createHash('sha256').update(json).digest('hex').slice(0, checksumCharacters)

/** A step as the journal holds it: its checksum, a space, its JSON, and a line break. */
export function lineOf(step: JournalStep): string {
  const json = JSON.stringify(z.encode(JournalStep, step))
  return `${checksumOf(json)} ${json}\n`
}

/** The step in a line without its line break; undefined when it is not as it was written. */
export function stepIn(line: string): JournalStep | undefined {
  const json = line.slice(checksumCharacters + 1)
  if (line !== `${checksumOf(json)} ${json}`) return undefined
  return parseLines(json, JournalStep).records[0]
}
