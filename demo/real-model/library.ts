import { mkdir, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The part of node-llama-cpp that is used. Its types are not installed, because it must not be a dependency. */
export type Library = {
  readonly getLlama: (options: {
    readonly gpu: false
    readonly build: 'never'
    readonly skipDownload: true
    readonly logLevel: 'error'
    readonly maxThreads: number
  }) => Promise<Library['llama']>
  readonly llama: {
    readonly loadModel: (options: {
      readonly modelPath: string
      readonly gpuLayers: 0
    }) => Promise<Library['model']>
  }
  readonly model: {
    readonly tokenize: (text: string, specialTokens?: boolean) => readonly number[]
    readonly detokenize: (tokens: readonly number[]) => string
    readonly isEogToken: (token: number) => boolean
    readonly createContext: (options: object) => Promise<{
      readonly getSequence: () => Library['sequence']
    }>
  }
  readonly sequence: {
    readonly clearHistory: () => Promise<void>
    readonly controlledEvaluate: (
      input: readonly (number | readonly [number, { readonly generateNext: object }])[],
    ) => Promise<readonly (Output | undefined)[]>
  }
}

/** The output after a token: the likeliest next token, or the probabilities of all, likeliest first. */
type Output = {
  readonly next: {
    readonly token?: number | null
    readonly probabilities?: ReadonlyMap<number, number>
  }
}

type Addon = {
  readonly loadBackends: (folder: string) => void
  readonly getGpuType: () => unknown
}

/** Loads the library of a folder. With a processor level, the process can use only that one. Throws when the processor cannot run it. */
export async function libraryIn(
  folder: string,
  level?: string,
): Promise<Pick<Library, 'getLlama'>> {
  const modules = join(folder, 'node_modules')
  if (level !== undefined) await chooseLevel(folder, modules, level)
  const main = join(modules, 'node-llama-cpp', 'dist', 'index.js')
  return await import(pathToFileURL(main).href)
}

/** The library takes the best level in its own folder, unless one is there already. So one is loaded from a folder with nothing else. */
async function chooseLevel(folder: string, modules: string, level: string): Promise<void> {
  const name = `${process.platform}-${process.arch}`
  const binaries = join(modules, '@node-llama-cpp', name, 'bins', name)
  const file = `libggml-cpu-${level}.so`
  const alone = join(folder, 'levels', level)
  await mkdir(alone, { recursive: true })
  await symlink(join(binaries, file), join(alone, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const addon = createRequire(import.meta.url)(join(binaries, 'llama-addon.node')) as Addon
  addon.loadBackends(alone)
  if (typeof addon.getGpuType() === 'boolean') return
  throw new Error(
    `The level ${level} cannot be loaded from ${binaries}: this processor lacks it, or there is no such file`,
  )
}
