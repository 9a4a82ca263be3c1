/** Says how a response redirects; undefined for others. None is followed: it may lead into the caller's own network. Browsers hide the status. */
export function redirectOf({ type, status }: Response): string | undefined {
  if (type === 'opaqueredirect') return 'redirects elsewhere'
  return status >= 300 && status < 400 ? `redirects elsewhere (status ${status})` : undefined
}
