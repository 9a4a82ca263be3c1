import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { page, scriptHash, styleHash } from '../../../icl/console/page.generated.ts'
import { consolePage } from '../../../icl/http/text-response.ts'
import { sha256, utf8 } from '../../../lib/digest.ts'
import { buildConsole } from '../../../web/build-pages.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const partOf = (tag: string): string =>
  new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? ''
const hashOf = async (text: string): Promise<string> =>
  `sha256-${btoa(String.fromCharCode(...(await sha256(utf8(text)))))}`

describe('the page that the ICL carries in itself', () => {
  it('is what its source makes: run npm run build:pages after a change', async () => {
    const { module, text } = await buildConsole()
    const kept = await readFile(join(root, module), 'utf8')
    expect([module, kept === text]).toEqual([module, true])
  })

  it('stands in short lines: a search prints each line that it finds', async () => {
    const { text } = await buildConsole()
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThan(300)
  })

  it('is small', () => {
    expect(utf8(page).length).toBeLessThan(74 * 1024)
    expect(page.length).toBeGreaterThan(20 * 1024)
  })

  it('may run its own script and style, and ask its own ICL, and nothing else', async () => {
    const { headers } = consolePage([])
    expect(scriptHash).toBe(await hashOf(partOf('script')))
    expect(styleHash).toBe(await hashOf(partOf('style')))
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      `script-src '${scriptHash}'`,
      `style-src '${styleHash}'`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  it('names no other place, and puts no text in as HTML', () => {
    const places = page.match(/\bhttps?:\/\/[^"'\s)]+/g) ?? []
    // Namespaces are names, not places.
    expect(places.filter((place) => !place.startsWith('http://www.w3.org/'))).toEqual([])
    expect(partOf('style')).not.toMatch(/@import|url\(/)
    expect(page).not.toMatch(/\beval\(|new Function\(|document\.write/)
  })
})
