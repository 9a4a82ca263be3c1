import type { Abi } from 'viem'
import type { Artifacts } from './solc.ts'

const lineWidth = 100

/** Which contract's ABI goes to which file under `lib/abi/`, and under which name. */
const abiFiles = [
  { contract: 'NodeRegistry', file: 'node-registry.ts', constant: 'nodeRegistryAbi' },
  { contract: 'PromptKeyStore', file: 'prompt-key-store.ts', constant: 'promptKeyStoreAbi' },
  { contract: 'ResultRegistry', file: 'result-registry.ts', constant: 'resultRegistryAbi' },
  { contract: 'CofheTaskManager', file: 'task-manager.ts', constant: 'taskManagerAbi' },
] as const

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value)

// The formatter breaks every list of two or more objects, however short.
const mustBreak = (value: Json): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (isArray(value)) return value.length > 1 || value.some(mustBreak)
  return Object.values(value).some(mustBreak)
}

const inline = (value: Json): string => {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value !== 'object' || value === null) return String(value)
  if (isArray(value)) return `[${value.map(inline).join(', ')}]`
  return `{ ${Object.entries(value)
    .map(([key, entry]) => `${key}: ${inline(entry)}`)
    .join(', ')} }`
}

const render = (value: Json, indent: string, prefixLength: number): string => {
  const short = inline(value)
  // One more column for the comma that follows.
  if (!mustBreak(value) && prefixLength + short.length < lineWidth) return short
  if (typeof value !== 'object' || value === null) return short
  const deeper = `${indent}  `
  const lines = isArray(value)
    ? value.map((entry) => `${deeper}${render(entry, deeper, deeper.length)},\n`)
    : Object.entries(value).map(
        ([key, entry]) =>
          `${deeper}${key}: ${render(entry, deeper, deeper.length + key.length + 2)},\n`,
      )
  const [open, close] = isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${lines.join('')}${indent}${close}`
}

const withoutInternalTypes = (abi: Abi): Json =>
  JSON.parse(JSON.stringify(abi, (key, value) => (key === 'internalType' ? undefined : value)))

/** The text of every file under `lib/abi/`, by file name, formatted as the rest of the code. */
export const renderAbiFiles = (artifacts: Artifacts): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const { contract, file, constant } of abiFiles) {
    const artifact = artifacts[contract]
    if (artifact === undefined) throw new Error(`no contract named ${contract} was compiled`)
    const list = render(withoutInternalTypes(artifact.abi), '', lineWidth)
    files.set(
      file,
      `// Generated from contracts/${contract}.sol by contracts/build.ts; do not edit.\n\n` +
        `/** The ABI of ${contract}. */\nexport const ${constant} = ${list} as const\n`,
    )
  }
  return files
}
