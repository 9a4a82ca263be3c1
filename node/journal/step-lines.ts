import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseLines } from './json-lines.ts'
import { JournalStep } from './steps.ts'

const checksumCharacters = 16

/** The checksum shows a changed line: a disk may change bytes, and the JSON may still parse. */
const checksumOf = (json: string): string =>
  createHash('sha256').update(json).digest('hex').slice(0, checksumCharacters)

/** Formats a step as a journal line: its checksum, a space, its JSON, and a line break. */
export function lineOf(step: JournalStep): string {
  const json = JSON.stringify(z.encode(JournalStep, step))
  return `${checksumOf(json)} ${json}\n`
}

/** Returns the step in a line without its line break, undefined when the checksum is wrong. */
export function stepIn(line: string): JournalStep | undefined {
  const json = line.slice(checksumCharacters + 1)
  if (line !== `${checksumOf(json)} ${json}`) return undefined
  return parseLines(json, JournalStep).records[0]
}
