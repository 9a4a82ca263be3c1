/** Options of an inference's calls: 3 attempts, and no limit on waiting while the ICL says that it has too much to do. */
export const patient = { attempts: 3, onLoad: () => {} } as const
