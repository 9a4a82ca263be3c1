import { isPrivate } from './ip-address.ts'

type Environment = Readonly<Record<string, string | undefined>>

type Host = { readonly Bun?: unknown; readonly process?: { readonly env: Environment } }

/** The environment by which Bun chooses proxies. Node does so only if told to, and Deno always: neither is named or kept off private hosts here. */
function proxyEnvironment(): Environment {
  const { Bun, process } = globalThis as Host
  return (Bun !== undefined && process?.env) || {}
}

/** The proxy of the environment for requests to a URL, with its variable and without its password; undefined when they go straight. */
export function proxyFor(url: string, env: Environment = proxyEnvironment()): string | undefined {
  if (isPrivate(url)) return undefined
  const { protocol, host, hostname } = new URL(url)
  const lower = `${protocol.slice(0, -1)}_proxy`
  const variable = [lower, lower.toUpperCase()].find((name) => env[name])
  const address = variable && env[variable]
  if (!address) return undefined
  const exempt = (env.no_proxy || env.NO_PROXY || '').split(',').map((part) => part.trim())
  const isExempt = exempt.some((part) => {
    const name = part.replace(/^\*?\./, '')
    return part === '*' || name === host || name === hostname || hostname.endsWith(`.${name}`)
  })
  if (isExempt) return undefined
  const proxy = /^\w+:\/\//.test(address) ? address : `http://${address}`
  return `the proxy ${URL.canParse(proxy) ? new URL(proxy).host : 'without an address'} (${variable})`
}

/** A request that a proxy of the environment had to pass on, and that failed on its way. The message names the proxy. */
export class ProxyFailed extends Error {
  readonly hint: string

  constructor(proxy: string, url: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const why = /^\w{1,40}$/.test(code) ? ` (${code})` : ''
    super(`is reached through ${proxy}, and that failed${why}`, { cause })
    this.hint = `Check the proxy, or add ${new URL(url).hostname} to NO_PROXY.`
  }
}
