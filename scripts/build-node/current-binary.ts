import { join } from 'node:path'
import { build, hereName } from './build.ts'
import { readBuildInfo } from './build-info.ts'
import { commitOf } from './commit.ts'
import { hashSources } from './source-hash.ts'

/** The folder that executables are built into. */
export const outputFolder = 'dist'

/** The folder that keeps downloaded runtimes. */
export const cacheFolder = join('.cache', 'bun')

/** Resolves with the path of an executable that was built from the sources as they are; `whenStale` runs the build if one is needed. */
export async function currentBinary(
  root: string,
  whenStale: (build: () => Promise<void>) => Promise<void> = (run) => run(),
): Promise<string> {
  const folder = join(root, outputFolder)
  const path = join(folder, hereName)
  const sourceHash = await hashSources(root)
  if ((await readBuildInfo(path))?.source_hash === sourceHash) return path
  await whenStale(async () => {
    const facts = { commit: await commitOf(root), sourceHash }
    await build({ root, folder, facts, cacheFolder: join(root, cacheFolder), onDownload: () => {} })
  })
  return path
}
