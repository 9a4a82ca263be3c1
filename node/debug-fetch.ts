import type { Fetch } from '../lib/api.ts'
import type { Log } from './log.ts'

const maxShownCharacters = 4_096

/** Logs requests to the ICL and their answers at DEBUG (spec 6); headers, attestations and blobs are not shown. */
export const debuggingFetch =
  (fetch: Fetch, log: Log): Fetch =>
  async (request) => {
    const { pathname, search } = new URL(request.url)
    const isSecret = pathname.startsWith('/internal/attestation')
    const name = `${request.method} ${pathname}${search}`
    log.debug(`${name} ${isSecret ? '[not shown]' : await bodyText(request)}`)
    const response = await fetch(request)
    log.debug(`${name} -> ${response.status} ${isSecret ? '' : await bodyText(response)}`)
    return response
  }

async function bodyText(message: Request | Response): Promise<string> {
  if (message.body === null) return ''
  if (!/json/.test(message.headers.get('content-type') ?? '')) return '[bytes]'
  return (await message.clone().text()).slice(0, maxShownCharacters)
}
