import { createRequire } from 'node:module'
import type { Abi, Hex } from 'viem'

/** One compiled contract. An interface has an empty (`0x`) bytecode. */
export type Artifact = {
  readonly abi: Abi
  readonly bytecode: Hex
  readonly deployedBytecode: Hex
  /** The places in the deployed bytecode where the constructor puts values. */
  readonly immutables: readonly { readonly start: number; readonly length: number }[]
}

/** Compiled contracts by name. */
export type Artifacts = Readonly<Record<string, Artifact>>

/** Returns a compiled contract. Throws when there is none of that name. */
export const artifactOf = (artifacts: Artifacts, name: string): Artifact => {
  const artifact = artifacts[name]
  if (artifact === undefined) throw new Error(`no contract named ${name} was compiled`)
  return artifact
}

/** The compiler settings. A change here changes the bytecode. */
export const compilerSettings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 10_000 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: {
    '*': {
      '*': [
        'abi',
        'evm.bytecode.object',
        'evm.deployedBytecode.object',
        'evm.deployedBytecode.immutableReferences',
      ],
    },
  },
} as const

// The local access list keeps transient storage until the end of the transaction on purpose.
const expectedWarnings: readonly string[] = ['2394']

type SolcContract = {
  readonly abi: Abi
  readonly evm: {
    readonly bytecode: { readonly object: string }
    readonly deployedBytecode: {
      readonly object: string
      readonly immutableReferences: Readonly<Record<string, Artifact['immutables']>>
    }
  }
}

type SolcOutput = {
  readonly errors?: readonly { errorCode?: string; formattedMessage: string }[]
  readonly contracts?: Record<string, Record<string, SolcContract>>
}

type Solc = { compile(input: string): string }

const loadSolc = (): Solc => {
  const events = ['uncaughtException', 'unhandledRejection']
  const before = new Map(
    events.map((event) => [event, new Set(process.listeners(event as 'exit'))]),
  )
  const solc = createRequire(import.meta.url)('solc') as Solc
  // The compiler's runtime installs listeners that abort this process on any later failure.
  for (const event of events) {
    for (const listener of process.listeners(event as 'exit')) {
      if (!before.get(event)?.has(listener)) process.removeListener(event, listener)
    }
  }
  return solc
}

/** Compiles sources, by import path. Throws with the compiler's messages, warnings included. */
export const compileSolidity = (sources: ReadonlyMap<string, string>): Artifacts => {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries([...sources].map(([path, content]) => [path, { content }])),
    settings: compilerSettings,
  }
  const output = JSON.parse(loadSolc().compile(JSON.stringify(input))) as SolcOutput
  const problems = (output.errors ?? []).filter(
    (problem) => !expectedWarnings.includes(problem.errorCode ?? ''),
  )
  if (problems.length > 0) {
    throw new Error(`solc: ${problems.map((problem) => problem.formattedMessage).join('\n')}`)
  }
  const artifacts: Record<string, Artifact> = {}
  for (const [path, contracts] of Object.entries(output.contracts ?? {})) {
    if (path.startsWith('@')) continue
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      artifacts[name] = {
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
        immutables: Object.values(evm.deployedBytecode.immutableReferences).flat(),
      }
    }
  }
  return artifacts
}
