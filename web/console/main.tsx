// biome-ignore lint/suspicious/noDeprecatedImports: its third parameter is deprecated, and not used here
import { render } from 'preact'
import { App } from './app.tsx'

const page = document.querySelector('#page')
if (page) {
  page.replaceChildren()
  render(<App />, page)
}
