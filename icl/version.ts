import manifest from '../package.json' with { type: 'json' }

/** The ICL's version. */
export const version: string = manifest.version
