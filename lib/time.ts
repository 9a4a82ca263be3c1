/** A minute in milliseconds. */
export const minuteMs = 60_000
/** An hour in milliseconds. */
export const hourMs = 60 * minuteMs
/** A day in milliseconds. */
export const dayMs = 24 * hourMs

/** Whole seconds of a time in milliseconds, as the wire has them. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000)
