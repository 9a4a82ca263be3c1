/** Returns the code of an operating system's error, such as ENOENT. */
export const codeOfSystemError = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
