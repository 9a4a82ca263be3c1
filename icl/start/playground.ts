import { Hono } from 'hono'
import { withHeader } from '../../lib/page-header.ts'
import type { PlaygroundSettings } from '../../lib/schemas/playground.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Dependencies } from '../dependencies.ts'
import { createRateLimiter } from '../http/rate-limit.ts'
import type { RequestEnv } from '../http/request-env.ts'
import { shownPages } from '../http/text-response.ts'
import { createThrottle } from '../http/throttle.ts'
import type { Settings } from './settings.ts'

const pageName = 'index.html'
const maxFileBytes = 16 << 20
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

type File = { readonly type: string; readonly content: Uint8Array<ArrayBuffer> }

/** Reads every file of a folder by its name. Throws when one is larger than `maxBytes`. */
export type ReadFolder = (
  folder: string,
  maxBytes: number,
) => ReadonlyMap<string, Uint8Array<ArrayBuffer>>

/** The files of the built playground, and its settings. */
export type BuiltPlayground = {
  readonly files: ReadonlyMap<string, File>
  readonly settings: PlaygroundSettings
}

const buildIt = 'Build the page with `npm run build:playground`, which fills dist/playground.'

const unusable = (why: string, hint = buildIt, cause?: unknown): SvcError =>
  new SvcError('settings-invalid', `The settings are not usable:\n  ${why}`, { hint, cause })

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.'))

function readFiles(folder: string, readFolder: ReadFolder): ReadonlyMap<string, File> {
  let files: ReturnType<ReadFolder>
  try {
    files = readFolder(folder, maxFileBytes)
  } catch (error) {
    throw unusable(`SVC_ICL_PLAYGROUND cannot be read: ${String(error)}`, buildIt, error)
  }
  return new Map(
    [...files].flatMap(([name, content]) => {
      const type = types[extensionOf(name)]
      return type === undefined ? [] : [[name, { type, content }] as const]
    }),
  )
}

/** Reads all files of the page, so that no request is used as a path; undefined when no page is set. Throws SvcError `settings-invalid`. */
export function readPlayground(
  { SVC_ICL_PLAYGROUND: folder, SVC_ICL_PLAYGROUND_RPC_URL: rpcUrl }: Settings,
  coprocessor: Dependencies['network']['coprocessor'],
  readFolder: ReadFolder,
): BuiltPlayground | undefined {
  if (folder === undefined) return undefined
  if (rpcUrl === undefined) {
    throw unusable('SVC_ICL_PLAYGROUND_RPC_URL is missing', 'Set it to a chain RPC for browsers.')
  }
  const files = readFiles(folder, readFolder)
  if (!files.has(pageName)) throw unusable(`SVC_ICL_PLAYGROUND has no ${pageName}`)
  return { files, settings: { rpc_url: rpcUrl, ...(coprocessor && { coprocessor }) } }
}

/** A URL as a source of the content security policy; with `below` also for all paths below it. */
const sourceOf = (url: string, below: boolean): string => {
  const { origin, pathname } = new URL(url)
  if (pathname === '/') return origin
  // An unescaped ; or , would end the directive.
  const path = pathname.replaceAll(';', '%3B').replaceAll(',', '%2C')
  return `${origin}${path}${below && !path.endsWith('/') ? '/' : ''}`
}

/** The content security policy of the page: it may load and run its own files, and call the chain and the coprocessor. */
export function playgroundPolicy({ rpc_url, coprocessor }: PlaygroundSettings): string {
  const called = [
    sourceOf(rpc_url, false),
    ...Object.values(coprocessor ?? {}).map((url) => sourceOf(url, true)),
  ]
  return [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...new Set(called)].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Serves the playground at `/playground`, outside the API. Has its own rate limits by address. */
export function servePlayground(
  deps: Dependencies,
  { files, settings }: BuiltPlayground,
): Hono<RequestEnv> {
  const app = new Hono<RequestEnv>()
  const throttle = createThrottle(createRateLimiter(deps.clock, deps.access.rates))
  const headers = {
    'content-security-policy': playgroundPolicy(settings),
    'referrer-policy': 'no-referrer',
    // The FHE code shares memory with threads, which browsers allow only to isolated pages.
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-resource-policy': 'same-origin',
  }
  const answer = ({ type, content }: File, caching: string): Response =>
    new Response(content, {
      headers: { ...headers, 'content-type': type, 'cache-control': caching },
    })
  app.use(async (c, next) => {
    throttle.arrive(c, undefined)
    await next()
  })
  const page = new TextDecoder().decode(files.get(pageName)?.content)
  const html = withHeader(page, shownPages(deps.access, true), 'playground')
  app.get('/', (c) => c.html(html, 200, { ...headers, 'cache-control': 'no-cache' }))
  app.get('/settings.json', (c) =>
    c.json(settings, 200, { ...headers, 'cache-control': 'no-store' }),
  )
  app.get('/:name', (c) => {
    const name = c.req.param('name')
    const file = name === pageName ? undefined : files.get(name)
    // A file's name changes with its content.
    return file ? answer(file, 'public, max-age=31536000, immutable') : c.notFound()
  })
  return app
}
