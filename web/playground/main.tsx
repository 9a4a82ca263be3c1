import './zod-without-eval.ts'
// biome-ignore lint/suspicious/noDeprecatedImports: its third parameter is deprecated, and not used here
import { render } from 'preact'
import { App } from './app.tsx'
import { Assets } from './assets.ts'

const page = document.querySelector<HTMLElement>('#page')
if (page === null) throw new TypeError('The page has no place for the playground')
const assets = Assets.parse({ ...page.dataset })
page.replaceChildren()
render(<App assets={assets} />, page)
