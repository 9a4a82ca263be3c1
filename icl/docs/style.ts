import { headerStyle } from '../../lib/page-header.ts'

/** How the reference page looks: one column on a phone, light or dark as the reader's system is, with a visible focus. */
export const style = `${headerStyle}
:root{color-scheme:light dark;--ink:#1a1c20;--soft:#5a6070;--line:#d8dce4;--back:#fff;--panel:#f5f6f9;--link:#0b5cad;--get:#0a6b3b;--post:#8a4b00}
@media (prefers-color-scheme:dark){:root{--ink:#e7e9ee;--soft:#a3aabb;--line:#353a46;--back:#14161b;--panel:#1d2028;--link:#7db8ff;--get:#6fd39b;--post:#f0b567}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--back)}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--back);padding:.5rem 1rem}
body>nav,.intro,main{max-width:62rem;margin:0 auto;padding:1rem}
h1{margin:.5rem 0 0;font-size:1.6rem}
h2{margin:2.5rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--line)}
h3{margin:0;font-size:1rem;overflow-wrap:anywhere}
h4{margin:1rem 0 .25rem;font-size:.9rem;color:var(--soft)}
nav ul{margin:0 0 .5rem;padding:0;list-style:none;columns:16rem}
nav li{break-inside:avoid}
nav a,nav summary{display:inline-block;padding:.2rem 0}
code{font:.9em/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
section.op,section.schema{margin:1rem 0;padding:1rem;border:1px solid var(--line);border-radius:.5rem;background:var(--panel)}
.GET{color:var(--get)}.POST{color:var(--post)}
p{margin:.4rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}
`
