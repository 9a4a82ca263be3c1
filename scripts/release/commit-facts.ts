import { gitIn } from '../build-node/commit.ts'

/** What git says of the commit to release. */
export type CommitFacts = {
  readonly commit: string
  /** When it was committed, in Unix seconds. */
  readonly time: number
  readonly tags: readonly string[]
  readonly isClean: boolean
  /** The tag of the previous release. */
  readonly before: string | undefined
  /** The first lines of the commits since then, newest first. */
  readonly changes: readonly string[]
}

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')

/** Asks git about a folder. Throws an Error with git's message. */
export async function readCommit(root: string, tag: string): Promise<CommitFacts> {
  const git = gitIn(root)
  const [commit, time, tags, status, released] = await Promise.all([
    git('rev-parse', 'HEAD'),
    git('log', '-1', '--format=%ct'),
    git('tag', '--points-at', 'HEAD'),
    git('status', '--porcelain'),
    git('tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', 'v*'),
  ])
  const before = lines(released).find((name) => name !== tag)
  const range = before === undefined ? 'HEAD' : `${before}..HEAD`
  return {
    commit,
    time: Number(time),
    tags: lines(tags),
    isClean: status === '',
    before,
    changes: lines(await git('log', '--no-merges', '--format=%s', range)),
  }
}

/** Returns what prevents a release of this commit as this version. */
export function objections(
  { tags, isClean }: Pick<CommitFacts, 'tags' | 'isClean'>,
  { version, lockVersion }: { readonly version: string; readonly lockVersion: string },
): readonly string[] {
  return [
    ...(/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) ? [] : [`${version} is no version`]),
    ...(lockVersion === version ? [] : [`package-lock.json says ${lockVersion}, not ${version}`]),
    ...(tags.includes(`v${version}`) ? [] : [`the commit does not have the tag v${version}`]),
    ...(isClean ? [] : ['files have changed since the commit']),
  ]
}

/** Returns the changelog section of this version: the one in CHANGELOG.md, else the subjects of the commits. */
export function changesOf(
  version: string,
  { before, changes }: Pick<CommitFacts, 'before' | 'changes'>,
  changelog: string | undefined,
): string {
  const written = changelog
    ?.split(/^(?=## )/m)
    .find((section) => /^## \[?v?([^\s\]]+)/.exec(section)?.[1] === version)
  if (written !== undefined) return `${written.trimEnd()}\n`
  const since = before === undefined ? 'From the beginning:' : `Since ${before}:`
  return `## ${version}\n\n${since}\n\n${changes.map((line) => `- ${line}\n`).join('')}`
}
