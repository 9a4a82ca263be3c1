import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import type { Target } from './targets.ts'

/** The facts that the executable reports about its build. */
export type BuildFacts = { readonly commit: string; readonly sourceHash: string }

/** The options of the compiler. Without `target` it compiles for this machine with this Bun. */
export type CompileOptions = {
  readonly root: string
  readonly outfile: string
  readonly facts: BuildFacts
  readonly target?: { readonly target: Target; readonly runtime: string }
}

/** Compiles the node into one executable. Throws an Error with the bundler's messages. */
export async function compile({ root, outfile, facts, target }: CompileOptions): Promise<void> {
  try {
    await Bun.build({
      entrypoints: [
        join(root, 'node', 'executable', 'entry.ts'),
        join(root, 'lib', 'host', 'coprocessor', 'prove-worker.ts'),
        join(root, 'node', 'attestation', 'tpm', 'tbs-worker.ts'),
      ],
      root,
      // All entry points are in one folder: the program looks for its workers beside itself.
      naming: { entry: '[name].[ext]' },
      // A command reads only the parts that it needs, which halves the start-up time.
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
