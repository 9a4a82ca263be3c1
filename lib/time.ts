/** An hour in milliseconds. */
export const hourMs = 3_600_000
/** A day in milliseconds. */
export const dayMs = 24 * hourMs

/** Whole seconds of a time in milliseconds, as on the wire. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000)
