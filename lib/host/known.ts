/** Returns what the system tells, or undefined when it refuses: a folder may be closed to this user, and Deno wants a permission. */
export function known<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}
