import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { buildEdge } from '../../icl/start/build-edge.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { flag, json, ListOf, option } from '../../lib/host/program/option.ts'
import { type Lines, runOnly } from '../../lib/host/program/run-program.ts'
import { version } from '../../lib/host/version.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { build, exitInOrder } from '../build-node/build.ts'
import { commitOf } from '../build-node/commit.ts'
import { cacheFolder } from '../build-node/current-binary.ts'
import { readLock } from '../build-node/lock.ts'
import { hashSources } from '../build-node/source-hash.ts'
import { type Target, targetNames, targetsNamed } from '../build-node/targets.ts'
import { compareWithLock, makeBill } from './bill-of-materials.ts'
import { type CommitFacts, changesOf, objections, readCommit } from './commit-facts.ts'

const root = resolve(import.meta.dirname, '..', '..')
const hereTarget = `${process.platform}-${process.arch}`
const sumsFile = 'SHA256SUMS'
const billFile = 'sbom.cdx.json'
const changesFile = 'CHANGES.md'

type Artefact = { readonly file: string; readonly bytes: number; readonly sha256: string }
type Say = (line: string) => void

const options = z.object({
  dryRun: flag(
    'Also when the commit is not tagged or files have changed: says so, and keeps nothing',
  ),
  targets: option(
    ListOf(targetNames).default([...targetNames]),
    'TARGETS',
    'Only these, separated by commas',
  ),
  out: option(
    z.string().optional(),
    'FOLDER',
    'Where to (default: dist/release; of a dry run: a temporary folder, which is removed)',
  ),
  cache: option(
    z.string().default(cacheFolder),
    'FOLDER',
    'Where the Bun runtimes of other platforms are kept. npm downloads missing ones',
  ),
  json,
})
type Given = z.output<typeof options>

async function release(given: Given, { print, warn }: Lines): Promise<number> {
  const { dryRun, json } = given
  const say = json ? warn : print
  const facts = await readCommit(root, `v${version}`)
  const lock = await readLock(root)
  const against = objections(facts, { version, lockVersion: lock.version })
  say(`svc ${version}, commit ${facts.commit}, Bun ${Bun.version}${dryRun ? ' (dry run)' : ''}`)
  if (against.length > 0 && !dryRun) throw notReleasable(against)
  for (const objection of against) say(`  would be refused: ${objection}`)
  const isPassing = dryRun && given.out === undefined
  const folder = isPassing
    ? await mkdtemp(join(tmpdir(), 'svc-release-'))
    : resolve(root, given.out ?? join('dist', 'release'))
  try {
    await makeFolder(folder)
    await makeAll(given, folder, facts, say)
    const artefacts = await writeSums(folder)
    for (const { file, bytes, sha256 } of artefacts) {
      say(`  ${file.padEnd(28)} ${String(bytes).padStart(11)}  ${sha256}`)
    }
    tellNext(say, dryRun, folder, artefacts)
    if (json) {
      const { commit } = facts
      const line = { version, commit, dry_run: dryRun, objections: against, artefacts }
      print(JSON.stringify(line))
    }
    return exitCodes.done
  } finally {
    if (isPassing) await rm(folder, { recursive: true, force: true })
  }
}

const notReleasable = (against: readonly string[]): SvcError =>
  new SvcError('not-releasable', `this is not released: ${against.join('; ')}`, {
    hint: 'Tag the commit, commit or undo what has changed, or try with --dry-run.',
  })

/** Makes the folder and removes the release in it. Throws SvcError `folder-taken` when it has any other file. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const sums = await readFile(join(folder, sumsFile), 'utf8').catch(() => '')
  const listed = new Set([...sums.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, file]) => file))
  const held = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  // A folder that is not a release may also have a list of sums.
  const isRelease = listed.has(billFile) && listed.has(changesFile)
  if (held.some((file) => !isRelease || (file !== sumsFile && !listed.has(file)))) {
    throw new SvcError('folder-taken', `${folder} holds something that is no release`, {
      hint: 'Choose an empty folder with --out.',
    })
  }
  for (const file of held) await rm(join(folder, file))
}

async function makeAll(
  { targets, cache }: Given,
  folder: string,
  facts: CommitFacts,
  say: Say,
): Promise<void> {
  const step = async (what: string, work: () => Promise<string | undefined>) => {
    const began = performance.now()
    const note = await work()
    const took = `${((performance.now() - began) / 1000).toFixed(1)} s`
    say(`  ${what.padEnd(28)} ok  ${took}${note === undefined ? '' : `, ${note}`}`)
  }
  const source = { commit: await commitOf(root), sourceHash: await hashSources(root) }
  const runtimes = resolve(root, cache)
  const buildInto = (into: string, target: Target) => {
    const onDownload = (what: string) => say(`  ${target.name}: downloading ${what} ...`)
    const options = { root, folder: into, facts: source, cacheFolder: runtimes, onDownload }
    return build(options, target)
  }
  for (const target of targetsNamed(targets)) {
    await step(target.file, async () => {
      const { sha256 } = await buildInto(folder, target)
      if (target.name !== hereTarget) return undefined
      return await buildAgain(folder, target, sha256, buildInto)
    })
  }
  await step('edge/', async () => `${(await buildEdge(join(folder, 'edge'))).length} files`)
  await step(billFile, async () => {
    const bill = await makeBill(root, { name: 'svc', time: facts.time, bun: Bun.version })
    const wrong = compareWithLock(bill, await readLock(root))
    if (wrong.length > 0) throw new Error(`the bill of materials is wrong: ${wrong.join('; ')}`)
    await writeFile(join(folder, billFile), bill)
    return 'agrees with package-lock.json'
  })
  await step(changesFile, async () => {
    const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8').catch(() => undefined)
    await writeFile(join(folder, changesFile), changesOf(version, facts, changelog))
    return undefined
  })
}

/** Builds again elsewhere. Throws an Error unless the bytes are the same. */
async function buildAgain(
  folder: string,
  target: Target,
  sha256: string,
  buildInto: (into: string, target: Target) => ReturnType<typeof build>,
): Promise<string> {
  const again = await mkdtemp(join(folder, '.again-'))
  try {
    const second = await buildInto(again, target)
    if (second.sha256 === sha256) return 'built twice, the same bytes'
    throw new Error(`${target.file} is not reproducible: ${sha256}, then ${second.sha256}`)
  } finally {
    await rm(again, { recursive: true, force: true })
  }
}

/** Writes the file for `sha256sum --check`, and returns its entries. */
async function writeSums(folder: string): Promise<readonly Artefact[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((one) => join(one.parentPath, one.name))
  const artefacts = await Promise.all(
    paths.map(async (path) => {
      const bytes = await readFile(path)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      return { file: relative(folder, path), bytes: bytes.length, sha256 }
    }),
  )
  artefacts.sort((a, b) => (a.file < b.file ? -1 : 1))
  const sums = artefacts.map(({ sha256, file }) => `${sha256}  ${file}\n`).join('')
  await writeFile(join(folder, sumsFile), sums)
  return artefacts
}

function tellNext(say: Say, dryRun: boolean, folder: string, artefacts: readonly Artefact[]): void {
  if (dryRun) {
    say(`${artefacts.length} artefacts and ${sumsFile}; nothing was published.`)
    return
  }
  const shown = relative(process.cwd(), folder) || '.'
  say(`${artefacts.length} artefacts and ${sumsFile} are in ${shown}. To publish them:`)
  say(`  (cd ${shown} && sha256sum --check ${sumsFile} && gpg --armor --detach-sign ${sumsFile})`)
  say(`  git push origin v${version}`)
  const edge = `svc-icl-edge-${version}.tar.gz`
  say(`  tar -C ${shown} --sort=name --owner=0 --group=0 --mtime=@0 -czf ${edge} edge`)
  const files = artefacts.map(({ file }) => file).filter((file) => basename(file) === file)
  const all = [...files, sumsFile, `${sumsFile}.asc`].map((file) => `${shown}/${file}`)
  say(
    `  gh release create v${version} --notes-file ${shown}/${changesFile} ${edge} ${all.join(' ')}`,
  )
}

exitInOrder()
await runOnly('npm run release --', {
  summary: `Make everything that a release publishes: svc-node for every target, the ICL's bundle for edge
hosts, a bill of materials (CycloneDX), what has changed, and SHA256SUMS. It publishes nothing: at
its end it prints the commands that do.`,
  options,
  notes: 'With --json, one line comes at the end, and progress goes to standard error.',
  run: release,
})
