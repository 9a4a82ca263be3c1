import { rm, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { errorMessage } from '../../lib/error-message.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { flag, json, OneOf, option } from '../../lib/host/program/option.ts'
import { type Lines, runOnly } from '../../lib/host/program/run-program.ts'
import { version } from '../../lib/host/version.ts'
import { type Built, build, exitInOrder, hereName } from './build.ts'
import { commitOf } from './commit.ts'
import { cacheFolder, outputFolder } from './current-binary.ts'
import { hashSources } from './source-hash.ts'
import { type Target, targetNames, targets, targetsNamed } from './targets.ts'

const root = resolve(import.meta.dirname, '..', '..')
const sumsFile = 'SHA256SUMS'

type Failed = { readonly target: string; readonly reason: string }

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const options = z
  .object({
    all: flag('Every target'),
    target: option(z.array(OneOf(targetNames)).default([]), 'TARGET', 'One target'),
    out: option(z.string().default(outputFolder), 'FOLDER', 'Where to'),
    cache: option(
      z.string().default(cacheFolder),
      'FOLDER',
      'Where the Bun runtimes of other platforms are kept. npm downloads missing ones',
    ),
    commit: option(
      z
        .string()
        .regex(/^[\w.-]{1,80}$/, 'takes up to 80 letters, digits, dots and hyphens')
        .optional(),
      'ID',
      'The commit to build in (default: from git)',
    ),
    json,
  })
  .refine(({ all, target }) => !all || target.length === 0, {
    message: 'and --target exclude one another',
    path: ['all'],
  })

async function buildAll(given: z.output<typeof options>, { print, warn }: Lines): Promise<number> {
  const chosen = given.all ? targets : targetsNamed(given.target)
  const say = given.json ? warn : print
  const facts = {
    commit: given.commit ?? (await commitOf(root)),
    sourceHash: await hashSources(root),
  }
  const folder = resolve(root, given.out)
  const runtimes = resolve(root, given.cache)
  say(`svc-node ${version}, commit ${facts.commit}, Bun ${Bun.version}`)
  const built: Built[] = []
  const failed: Failed[] = []
  const wanted: readonly (Target | undefined)[] = chosen.length > 0 ? chosen : [undefined]
  if (chosen.length > 0) await rm(join(folder, sumsFile), { force: true })
  for (const target of wanted) {
    const name = (target?.name ?? hereName).padEnd(18)
    const began = performance.now()
    const onDownload = (what: string) => say(`  ${name} downloading ${what} ...`)
    try {
      const one = await build({ root, folder, facts, cacheFolder: runtimes, onDownload }, target)
      built.push(one)
      const took = seconds(performance.now() - began)
      say(
        `  ${name} ok      ${relative(process.cwd(), one.path)}  ${megabytes(one.bytes)}  ${took}`,
      )
    } catch (error) {
      failed.push({ target: target?.name ?? hereName, reason: errorMessage(error) })
      say(`  ${name} FAILED  ${errorMessage(error)}`)
    }
  }
  if (chosen.length > 0 && built.length > 0) await writeSums(folder, built)
  if (failed.length > 0) say(`${failed.length} of ${wanted.length} could not be built.`)
  if (given.json) {
    const { commit, sourceHash: source_hash } = facts
    const report = { version, commit, source_hash, bun: Bun.version, built, failed }
    print(JSON.stringify(report))
  }
  return failed.length > 0 ? exitCodes.operatorMustAct : exitCodes.done
}

/** Writes the file for `sha256sum --check`. */
async function writeSums(folder: string, built: readonly Built[]): Promise<void> {
  const lines = built.map(({ sha256, path }) => `${sha256}  ${basename(path)}\n`)
  await writeFile(join(folder, sumsFile), lines.join(''))
}

exitInOrder()
await runOnly('npm run build:node --', {
  summary: `Build svc-node as one executable, dist/svc-node for this machine. With targets, build
dist/svc-node-TARGET for each, and write dist/SHA256SUMS.`,
  options,
  notes:
    'With --json, one line comes at the end, and progress goes to standard error. What could not be built is named, and the exit code is then 1.',
  run: buildAll,
})
