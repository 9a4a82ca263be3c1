/** What the packages are called. Both are placeholders: these lines are all that has to change. */
export const packageNames = { client: '@svc/client', command: 'svc' } as const
