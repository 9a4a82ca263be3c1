/** Returns a base URL, with `path` if it has no path of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
