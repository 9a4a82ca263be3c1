import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { writeWhole } from '../lib/host/write-whole.ts'
import { renderAbiFiles } from './abi-source.ts'
import { type Artifacts, compilerSettings, compileSolidity } from './solc.ts'
import { readSources } from './sources.ts'

const contractsFolder = import.meta.dirname
/** The path of the last build. */
export const artifactsFile = join(contractsFolder, 'out', 'artifacts.json')
const abiFolder = join(contractsFolder, '..', 'lib', 'abi')

type Build = { readonly sourcesHash: string; readonly contracts: Artifacts }

const hashSources = (sources: ReadonlyMap<string, string>): string => {
  const { version } = createRequire(import.meta.url)('solc/package.json') as { version: string }
  return createHash('sha256')
    .update(JSON.stringify([version, compilerSettings, [...sources]]))
    .digest('hex')
}

const readBuild = async (): Promise<Build | undefined> => {
  try {
    return JSON.parse(await readFile(artifactsFile, 'utf8')) as Build
  } catch {
    return undefined
  }
}

/** Compiles the contracts, or returns the artifacts of the last build if no source has changed. */
export const buildContracts = async (): Promise<Artifacts> => {
  const sources = await readSources()
  const sourcesHash = hashSources(sources)
  const last = await readBuild()
  if (last?.sourcesHash === sourcesHash) return last.contracts
  const contracts = compileSolidity(sources)
  await mkdir(join(contractsFolder, 'out'), { recursive: true })
  writeWhole(artifactsFile, JSON.stringify({ sourcesHash, contracts } satisfies Build))
  return contracts
}

/** Returns what the files under `lib/abi/` that differ from the compiled contracts should contain, by file name. */
export const findStaleAbis = async (artifacts: Artifacts): Promise<ReadonlyMap<string, string>> => {
  const stale = new Map<string, string>()
  for (const [name, text] of renderAbiFiles(artifacts)) {
    const committed = await readFile(join(abiFolder, name), 'utf8').catch(() => '')
    if (committed !== text) stale.set(name, text)
  }
  return stale
}

const main = async (): Promise<void> => {
  const started = performance.now()
  const artifacts = await buildContracts()
  const stale = await findStaleAbis(artifacts)
  await mkdir(abiFolder, { recursive: true })
  for (const [name, text] of stale) writeWhole(join(abiFolder, name), text)
  const deployable = Object.values(artifacts).filter((artifact) => artifact.bytecode !== '0x')
  const abis = stale.size === 0 ? 'ABIs are current' : `wrote lib/abi/{${[...stale.keys()]}}`
  const elapsedMs = Math.round(performance.now() - started)
  console.log(`contracts: ${deployable.length} ready in ${elapsedMs} ms; ${abis}`)
}

if (import.meta.main) await main()
