/** A method of a port. */
export type Method = (...args: unknown[]) => unknown

/** Returns a port whose methods are replaced by what `wrap` makes of them. Each call of a method runs on the port itself. */
export const wrapped = <T extends object>(
  port: T,
  wrap: (method: Method, name: string) => Method,
): T =>
  new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return wrap((...args) => value.apply(target, args) as unknown, name)
    },
  })
