import { pageStyle } from '../../lib/page-header.ts'

/** How the front page looks: one column on a phone, light or dark as the reader's system is. */
export const frontStyle = `${pageStyle}
body{font:16px/1.55 system-ui,sans-serif}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
main,footer{max-width:66rem;margin:0 auto;padding:1.5rem 1.25rem}
footer,small,.lead{color:var(--soft)}
footer{padding-top:0;font-size:.9rem}
h1{margin:.5rem 0;font-size:1.7rem;line-height:1.25;letter-spacing:-.015em}
h2{margin:0 0 .6rem;font-size:1.05rem}
h3{margin:1.1rem 0 .35rem;font-size:.95rem;font-weight:600}
p{margin:.4rem 0}
.lead{max-width:46rem;margin:0 0 1.25rem}
code,pre{font:.88em/1.5 ui-monospace,monospace}
section,.state,.facts{margin:0 0 1rem;border:1px solid var(--line);border-radius:.6rem;background:var(--panel)}
section{padding:1.1rem 1.25rem}
.state{padding:.7rem 1.25rem;font-weight:600;border-left:4px solid var(--tone)}
.state ul{margin:.3rem 0 0;padding-left:1.2rem;font-weight:400}
.state span{color:var(--tone)}
.good{--tone:var(--good)}.busy{--tone:var(--busy)}.bad{--tone:var(--bad)}
.facts{display:flex;flex-wrap:wrap;gap:1px;overflow:hidden;background:var(--line)}
.facts div{flex:1 1 8rem;padding:.7rem 1.25rem;background:var(--panel)}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-weight:600}
small{font-size:.85rem;font-weight:400}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:0 1rem;align-items:start}
table{width:100%;border-collapse:collapse;font-size:.92rem}
th,td{padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:baseline}
th{color:var(--soft);font-weight:500}
:is(th,td):last-child{padding-right:0;text-align:right;font-variant-numeric:tabular-nums}
tr:last-child td{border-bottom:0}
pre{margin:0;padding:.7rem .9rem;border-radius:.4rem;background:var(--back);white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:30rem){main{padding:1rem .75rem}section,.state,.facts div{padding-left:.9rem;padding-right:.9rem}h1{font-size:1.4rem}}
`
