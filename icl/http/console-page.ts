import { endpoints } from '../../lib/endpoints.ts'
import { page, scriptHash, styleHash } from '../console/page.generated.ts'
import { textResponse } from './text-response.ts'

/** Serves the page; the browser is told to run and load nothing but its own script and style, and to ask nobody else. */
export const consolePage = (): Response =>
  textResponse(endpoints.getConsole, page, {
    'content-security-policy': [
      "default-src 'none'",
      `script-src '${scriptHash}'`,
      `style-src '${styleHash}'`,
      "connect-src 'self'",
      // The empty icon that keeps browsers from asking for another.
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  })
