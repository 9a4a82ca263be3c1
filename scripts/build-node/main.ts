import { rm, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { errorMessage } from '../../lib/error-message.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { version } from '../../lib/host/version.ts'
import { type Built, build, hereName } from './build.ts'
import { commitOf } from './commit.ts'
import { cacheFolder, outputFolder } from './current-binary.ts'
import { type BuildCommand, parseBuildOptions, usage } from './options.ts'
import { runCommand } from './run-command.ts'
import { hashSources } from './source-hash.ts'
import type { Target } from './targets.ts'

const root = resolve(import.meta.dirname, '..', '..')
const sumsFile = 'SHA256SUMS'

type Failed = { readonly target: string; readonly reason: string }

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
async function run(command: BuildCommand): Promise<number> {
  const { targets, json } = command
  const say = (line: string) => void (json ? process.stderr : process.stdout).write(`${line}\n`)
  const facts = {
    commit: command.commit ?? (await commitOf(root)),
    sourceHash: await hashSources(root),
  }
  const folder = resolve(command.out ?? join(root, outputFolder))
  const runtimes = resolve(command.cache ?? join(root, cacheFolder))
  say(`svc-node ${version}, commit ${facts.commit}, Bun ${Bun.version}`)
  const built: Built[] = []
  const failed: Failed[] = []
  const wanted: readonly (Target | undefined)[] = targets.length > 0 ? targets : [undefined]
  if (targets.length > 0) await rm(join(folder, sumsFile), { force: true })
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
  if (targets.length > 0 && built.length > 0) await writeSums(folder, built)
  if (failed.length > 0) say(`${failed.length} of ${wanted.length} could not be built.`)
  if (json) {
    const { commit, sourceHash: source_hash } = facts
    const report = { version, commit, source_hash, bun: Bun.version, built, failed }
    process.stdout.write(`${JSON.stringify(report)}\n`)
  }
  return failed.length > 0 ? exitCodes.operatorMustAct : exitCodes.done
}

/** Writes the file for `sha256sum --check`. */
async function writeSums(folder: string, built: readonly Built[]): Promise<void> {
  const lines = built.map(({ sha256, path }) => `${sha256}  ${basename(path)}\n`)
  await writeFile(join(folder, sumsFile), lines.join(''))
}

await runCommand(parseBuildOptions, usage, run)
