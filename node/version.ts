import manifest from '../package.json' with { type: 'json' }

/** The version that `svc-node --version` prints and heartbeats carry (spec 9). */
export const version: string = manifest.version
