import { Abi } from 'ox'
import { type Artifacts, artifactOf } from './solc.ts'

/** The file under `lib/abi/` and the name of its constant, for each contract. */
const abiFiles = [
  { contract: 'NodeRegistry', file: 'node-registry.ts', constant: 'nodeRegistryAbi' },
  { contract: 'PromptKeyStore', file: 'prompt-key-store.ts', constant: 'promptKeyStoreAbi' },
  { contract: 'ResultRegistry', file: 'result-registry.ts', constant: 'resultRegistryAbi' },
  { contract: 'CofheTaskManager', file: 'task-manager.ts', constant: 'taskManagerAbi' },
] as const

/** Renders every file under `lib/abi/`, by file name. */
export const renderAbiFiles = (artifacts: Artifacts): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const { contract, file, constant } of abiFiles) {
    const { abi } = artifactOf(artifacts, contract)
    // Without what only the compiler needs. Parsing signatures at each start would take longer than reading this.
    const lines = Abi.from(Abi.format(abi)).map((item) => `  ${JSON.stringify(item)},\n`)
    files.set(
      file,
      `// Generated from contracts/${contract}.sol by contracts/build.ts; do not edit.\n\n` +
        `/** The ABI of ${contract}. */\nexport const ${constant} = [\n${lines.join('')}] as const\n`,
    )
  }
  return files
}
