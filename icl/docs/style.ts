import { pageStyle } from '../../lib/page-header.ts'

/** How the reference page looks: one column on a phone, light or dark as the reader's system is. Redoc is light. */
export const style = `${pageStyle}
body{font:16px/1.55 system-ui,sans-serif}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
main{max-width:62rem;margin:0 auto;padding:1rem}
code{font:.9em/1.4 ui-monospace,monospace}
main.redoc{max-width:none;padding:0;color-scheme:light;color:#1a1c20;background:#fff}
`
