import { runCommand } from '../../lib/host/run-command.ts'

const timeoutMs = 10_000
const sources = [
  ...['lib', 'node', 'scripts/build-node'],
  ...['package.json', 'package-lock.json', 'tsconfig.json'],
]

/** Returns the commit of `root`, with `-dirty` when sources have changed since, or `unknown` outside a repository. */
export async function commitOf(root: string): Promise<string> {
  const git = async (...args: string[]): Promise<string | undefined> => {
    try {
      const { code, stdout } = await runCommand(['git', ...args], { cwd: root, timeoutMs })
      return code === 0 ? stdout.trim() : undefined
    } catch {
      return undefined
    }
  }
  const head = await git('rev-parse', 'HEAD')
  if (head === undefined || head === '') return 'unknown'
  const changed = await git('status', '--porcelain', '--', ...sources)
  return changed === '' ? head : `${head}-dirty`
}
