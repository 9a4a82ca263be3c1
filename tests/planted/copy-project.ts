import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PlantedBug, plant } from './planted-bug.ts'

/** The project's folder. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** A copy of the project in which a bug may be planted. */
export type ProjectCopy = {
  readonly folder: string
  /** Calls `body` while the bug is in the copy; the copy is whole again afterwards. */
  withBug<T>(bug: PlantedBug, body: () => Promise<T>): Promise<T>
  remove(): Promise<void>
}

/** True for what the sources and settings are in, at the top of the tree; what else is there may come and go meanwhile. */
const isWanted = ({
  name,
  isDirectory,
}: {
  readonly name: string
  readonly isDirectory: boolean
}) =>
  isDirectory
    ? !name.startsWith('.') && name !== 'node_modules' && name !== 'dist'
    : /^[^.].*\.(json|toml|md|yaml)$/.test(name)

/** Copies the working tree as it is now; `node_modules` is shared with it. */
export async function copyProject(): Promise<ProjectCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-planted-'))
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!isWanted({ name: entry.name, isDirectory: entry.isDirectory() })) continue
    await cp(join(root, entry.name), join(folder, entry.name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return {
    folder,
    async withBug(bug, body) {
      const path = join(folder, bug.file)
      const whole = await readFile(path, 'utf8')
      await writeFile(path, plant(bug, whole))
      try {
        return await body()
      } finally {
        await writeFile(path, whole)
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
