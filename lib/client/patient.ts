/** How calls of an inference are made: tried again when they fail, and for as long as the ICL only has too much to do. */
export const patient = { attempts: 3, onLoad: () => {} } as const
