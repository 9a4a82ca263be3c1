import { join } from 'node:path'
import { build, hereName } from './build.ts'
import { readBuildInfo } from './build-info.ts'
import { commitOf } from './commit.ts'
import { hashSources } from './source-hash.ts'

/** The folder of built executables. */
export const outputFolder = 'dist'

/** The folder of downloaded runtimes. */
export const cacheFolder = join('.cache', 'bun')

/** Returns the path of an executable built from the present sources. Calls `whenStale` if it has to build one. */
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
