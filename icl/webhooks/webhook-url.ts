import { hostOf, parseIpAddress } from '../../lib/ip-address.ts'
import { isPublicAddress } from './public-address.ts'

/** Returns why messages are not sent to a URL; undefined when its form is allowed. What its name resolves to is checked when it is used. */
export function whyRefused(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return 'it cannot be read'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return 'it must begin with https://'
  }
  if (url.username !== '' || url.password !== '') return 'it must not name a user or a password'
  if (!allowPrivate && isClosedHost(hostOf(url))) return 'it must name a server of the internet'
  return undefined
}

const closedNames = /^(?:[^.]+|.*\.(?:localhost|local|internal|home\.arpa))\.?$/i

const isClosedHost = (host: string): boolean =>
  parseIpAddress(host) ? !isPublicAddress(host) : closedNames.test(host)
