import { maxHeaderBytes, maxUrlBytes } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'

/** Throws for a URL or headers that are too long, badly escaped, a repeated query parameter, or a host header that is not a host. */
export function checkForm(request: Request): void {
  checkHost(request.headers)
  const target = targetOf(request.url)
  if (target.length > maxUrlBytes) {
    throw new ProblemError('uri-too-long', `An address may have ${maxUrlBytes} bytes at most`)
  }
  let headerBytes = 0
  request.headers.forEach((value, name) => {
    headerBytes += name.length + value.length
  })
  if (headerBytes > maxHeaderBytes) {
    const why = `All headers together may have ${maxHeaderBytes} bytes at most`
    throw new ProblemError('headers-too-large', why)
  }
  const queryAt = target.indexOf('?')
  const path = queryAt < 0 ? target : target.slice(0, queryAt)
  if (!isDecodable(path)) {
    throw new ProblemError('invalid-request', 'The path is not UTF-8 in percent-encoding')
  }
  if (queryAt < 0) return
  const query = target.slice(queryAt + 1)
  if (!isDecodable(query)) {
    throw new ProblemError('invalid-query', 'The query is not UTF-8 in percent-encoding')
  }
  if (!query.includes('&')) return
  const names = [...new URLSearchParams(query).keys()]
  if (new Set(names).size < names.length) {
    throw new ProblemError('invalid-query', 'A query parameter is given more than once')
  }
}

/** Throws when there are two host headers, which runtimes join with a comma, or one holds more than a host. Some runtimes put it before the path unchecked. */
export function checkHost(headers: Headers): void {
  if (/[/?#\\,]/.test(headers.get('host') ?? '')) {
    throw new ProblemError('invalid-request', 'The header host does not name one host')
  }
}

/** Returns the path and query of a URL, whatever stands in the place of the host. */
export function targetOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  return start < 0 ? '/' : url.slice(start)
}

function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
