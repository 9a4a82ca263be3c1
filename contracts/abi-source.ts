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
    const lines = Abi.format(abi).map((signature) => `  '${signature}',\n`)
    files.set(
      file,
      `// Generated from contracts/${contract}.sol by contracts/build.ts; do not edit.\n\n` +
        `import { parseAbi } from 'viem'\n\n` +
        `/** The ABI of ${contract}. */\nexport const ${constant} = parseAbi([\n${lines.join('')}])\n`,
    )
  }
  return files
}
