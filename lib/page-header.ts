/** A page of an ICL. */
export type PageName = 'front' | 'playground' | 'console' | 'docs'

const links: Readonly<Record<PageName, readonly [path: string, name: string]>> = {
  front: ['/', 'Inference service'],
  playground: ['/playground', 'Playground'],
  console: ['/console', 'Console'],
  docs: ['/docs', 'API'],
}

/** All pages, in the order of the header. */
export const pageNames = Object.keys(links) as readonly PageName[]

/**
 * Puts the header, with a link to each of the pages `shown`, at the start of the body of an HTML page, in place of the one that it has.
 * The page's style has to include `headerStyle`.
 */
export function withHeader(html: string, shown: readonly PageName[], current: PageName): string {
  const items = shown.map((page) => {
    const [path, name] = links[page]
    return `<a href="${path}"${page === current ? ' aria-current="page"' : ''}>${name}</a>`
  })
  const header = `<header class="site"><nav aria-label="Pages">${items.join('')}</nav></header>`
  return html.replace(/<body>(<header class="site">.*?<\/header>)?/, `<body>${header}`)
}

/** The header's style, which needs no other. */
const headerStyle = `
.site{color-scheme:light dark;max-width:none;margin:0;padding:0 1.25rem;border-bottom:1px solid light-dark(#dddedb,#2c3038);background:light-dark(#fff,#191c21)}
.site nav{display:flex;flex-wrap:wrap;gap:0 1.1rem;max-width:none;margin:0;padding:0;font:14px/1.45 system-ui,sans-serif}
.site a{padding:.75rem 0 .6rem;border-bottom:2px solid transparent;color:light-dark(#5b606b,#a4abb8);text-decoration:none;white-space:nowrap}
.site a:first-child{margin-right:auto;font-weight:650}
.site a:is(:hover,:first-child,[aria-current]){color:light-dark(#1b1d21,#e6e8ec)}
.site a[aria-current]{border-color:currentcolor}
@media (max-width:30rem){.site{padding:0 .75rem}.site nav{gap:0 .9rem}}
`

/** The style that front page, console and playground begin with: colours, a reset, and the header's. */
export const pageStyle = `
:root{color-scheme:light dark;--ink:light-dark(#1b1d21,#e6e8ec);--soft:light-dark(#5b606b,#a4abb8);--line:light-dark(#dddedb,#2c3038);--back:light-dark(#f6f6f4,#111317);--panel:light-dark(#fff,#191c21);--link:light-dark(#0b57a4,#82b7f5);--chosen:light-dark(#e9f0f8,#1f2b3a);--good:light-dark(#1a7f4b,#54c08a);--busy:light-dark(#9a5b00,#e0a94f);--bad:light-dark(#c22f2f,#f07f7a)}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:var(--back)}
a{color:var(--link)}
code{overflow-wrap:anywhere}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
${headerStyle}`
