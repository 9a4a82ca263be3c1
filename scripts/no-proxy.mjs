const local = ['127.0.0.1', 'localhost']
// Bun uses the first of them that is set.
const names = ['no_proxy', 'NO_PROXY']

/** Returns an environment without a proxy for this machine. Earlier exceptions stay. */
export const withoutProxyHere = (environment) => {
  const given = names.flatMap((name) => (environment[name] ?? '').split(','))
  const hosts = [...given.map((host) => host.trim()).filter((host) => host !== ''), ...local]
  const list = [...new Set(hosts)].join(',')
  return { ...environment, ...Object.fromEntries(names.map((name) => [name, list])) }
}
