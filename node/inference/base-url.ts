/** A base URL with `path` when it has none of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
