/** The names of the packages. Both are placeholders. Only these lines have to change. */
export const packageNames = { client: '@svc/client', command: 'svc' } as const
