const format = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'UTC',
  dateStyle: 'short',
  timeStyle: 'medium',
})

/** Formats a time in milliseconds since the Unix epoch as `2026-11-21 10:14:09`. */
export const utcText = (atMs: number): string => format.format(atMs)
