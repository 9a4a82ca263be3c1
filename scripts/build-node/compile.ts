import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import type { Target } from './targets.ts'

/** What stands in the executable about itself. */
export type BuildFacts = { readonly commit: string; readonly sourceHash: string }

/** How to compile; without `target`, for this machine by its own Bun. */
export type CompileOptions = {
  readonly root: string
  readonly outfile: string
  readonly facts: BuildFacts
  readonly target?: { readonly target: Target; readonly runtime: string }
}

/** Compiles the node into one executable; throws an Error with the bundler's words. */
export async function compile({ root, outfile, facts, target }: CompileOptions): Promise<void> {
  try {
    await Bun.build({
      entrypoints: [
        join(root, 'node', 'executable', 'entry.ts'),
        join(root, 'lib', 'host', 'coprocessor', 'prove-worker.ts'),
        join(root, 'node', 'attestation', 'tpm', 'tbs-worker.ts'),
      ],
      root,
      // Entry points side by side: the workers are looked for beside the program.
      naming: { entry: '[name].[ext]' },
      // What a command does not need is not even read: half of the start-up time.
      splitting: true,
      target: 'bun',
      format: 'esm',
      minify: true,
      bytecode: true,
      env: 'disable',
      define: {
        SVC_BUILD_COMMIT: JSON.stringify(facts.commit),
        SVC_BUILD_SOURCE_HASH: JSON.stringify(facts.sourceHash),
      },
      compile: {
        outfile,
        // Write access to the working directory must not be enough to change what runs.
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
        ...(target && { target: target.target.bunTarget, executablePath: target.runtime }),
      },
    })
  } catch (error) {
    throw new Error(wordsOf(error), { cause: error })
  }
  await chmod(outfile, 0o755)
}

const wordsOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(String).slice(0, 5).join('; ')
    : String(error instanceof Error ? error.message : error)
