import { endpoints } from '../../lib/endpoints.ts'
import { page, scriptHash, styleHash } from '../console/page.generated.ts'
import { textResponse } from './text-response.ts'

/** Serves the page. The policy lets the browser load and run only the page's own script and style, and call only this ICL. */
export const consolePage = (): Response =>
  textResponse(endpoints.getConsole, page, {
    'content-security-policy': [
      "default-src 'none'",
      `script-src '${scriptHash}'`,
      `style-src '${styleHash}'`,
      "connect-src 'self'",
      // The page's empty icon keeps browsers from requesting one.
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  })
