/**
 * What an answer to a request with `redirect: 'manual'` says when it is a redirect. None is followed: it may lead into the
 * caller's own network. Browsers hide even the status.
 */
export function redirectOf({ type, status }: Response): string | undefined {
  if (type === 'opaqueredirect') return 'redirects elsewhere'
  return status >= 300 && status < 400 ? `redirects elsewhere (status ${status})` : undefined
}
