import { useEffect, useState } from 'preact/hooks'

const views = ['overview', 'nodes', 'jobs', 'own'] as const
export type View = (typeof views)[number]

/** The place in the page, from the part of the URL after #. */
export type Route = {
  readonly view: View
  /** The node or job that is open. */
  readonly open: string | undefined
  readonly query: URLSearchParams
}

/** Parses `#/jobs/REF?phase=open`. Anything else is the overview. */
function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [name, open] = path.split('/')
  const view = views.find((known) => known === name) ?? 'overview'
  return { view, open: open || undefined, query: new URLSearchParams(query) }
}

/** Returns the link to a place in the page. */
export function hrefOf(
  view: View,
  open = '',
  query: Readonly<Record<string, string>> = {},
): string {
  const filled = Object.entries(query).filter(([, value]) => value !== '')
  const search = new URLSearchParams(filled).toString()
  return `#/${view}${open && `/${open}`}${search && `?${search}`}`
}

/** Returns the current place, which follows the URL. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}
