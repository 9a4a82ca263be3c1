import { createHash } from 'node:crypto'

/** Something that happened in a simulation: who did what, in milliseconds from its start. */
export type StoryEvent = { readonly atMs: number; readonly who: string; readonly what: string }

/** What happens in a simulation, in order. */
export type Story = {
  readonly events: readonly StoryEvent[]
  /** Promises that were broken, in words. */
  readonly violations: readonly string[]
  note(who: string, what: string): void
  /** Counts for the hash alone: what happens too often to be told. */
  mix(what: string): void
  /** Notes a broken promise, once. */
  violate(what: string): void
  /** The same for the same events: nothing that is made of random signature bytes may be in them. */
  hash(): string
}

/** Begins a story at the time of `now`. */
export function createStory(
  now: () => number,
  onEvent: (event: StoryEvent) => void = () => {},
): Story {
  const startedAt = now()
  const events: StoryEvent[] = []
  const violations = new Set<string>()
  const digest = createHash('sha256')
  const note = (who: string, what: string) => {
    const event = { atMs: now() - startedAt, who, what }
    events.push(event)
    digest.update(`${event.atMs}\t${who}\t${what}\n`)
    onEvent(event)
  }
  return {
    events,
    note,
    mix: (what) => void digest.update(`${now() - startedAt}\t${what}\n`),
    get violations() {
      return [...violations]
    },
    violate: (what) => {
      if (violations.has(what)) return
      violations.add(what)
      note('BROKEN', what)
    },
    hash: () => digest.copy().digest('hex').slice(0, 16),
  }
}

/** One line of a story. */
export function lineOf({ atMs, who, what }: StoryEvent): string {
  const seconds = (atMs / 1000).toFixed(3).padStart(9)
  return `${seconds}  ${who.padEnd(10)} ${what}`
}
