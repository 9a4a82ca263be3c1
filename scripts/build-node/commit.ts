import { runCommand } from '../../lib/host/run-command.ts'
import { notSources, sourceFiles, sourceFolders } from './source-hash.ts'

/** Returns a function that runs git in a folder. Throws an Error with git's message. */
export const gitIn =
  (root: string) =>
  async (...args: readonly string[]): Promise<string> => {
    const options = { cwd: root, timeoutMs: 30_000 }
    const { code, stdout, stderr } = await runCommand(['git', ...args], options)
    if (code === 0) return stdout.trim()
    throw new Error(`git ${args[0]} ended with ${code}: ${stderr.trim()}`)
  }

/** Returns the commit of `root`, with `-dirty` when sources have changed since, or `unknown` outside a repository. */
export async function commitOf(root: string): Promise<string> {
  const git = gitIn(root)
  try {
    const head = await git('rev-parse', 'HEAD')
    const sources = [...sourceFolders, ...sourceFiles, `:(exclude)${notSources}`]
    const status = git('status', '--porcelain', '--', ...sources)
    const changed = await status.catch(() => 'not known')
    return changed === '' ? head : `${head}-dirty`
  } catch {
    return 'unknown'
  }
}
