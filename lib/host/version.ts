import manifest from '../../package.json' with { type: 'json' }

// Defined by the build; absent when run from the sources.
declare const SVC_BUILD_COMMIT: string | undefined
declare const SVC_BUILD_SOURCE_HASH: string | undefined

/** The version that `svc-node --version` prints and heartbeats carry (spec 9). */
export const version: string = manifest.version

/** The commit that the executable was built from, with the suffix `-dirty` if files had changed; undefined when run from the sources. */
export const commit: string | undefined =
  typeof SVC_BUILD_COMMIT === 'string' ? SVC_BUILD_COMMIT : undefined

/** The hash of the sources that the executable was built from; undefined when run from the sources. */
export const sourceHash: string | undefined =
  typeof SVC_BUILD_SOURCE_HASH === 'string' ? SVC_BUILD_SOURCE_HASH : undefined
