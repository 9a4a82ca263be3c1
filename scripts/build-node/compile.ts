import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../lib/error-message.ts'
import { oneZod } from './one-zod.ts'

/** The facts that the executable reports about its build. */
export type BuildFacts = { readonly commit: string; readonly sourceHash: string }

/** Compiles the node into one executable, with a target's runtime or this Bun. Throws an Error with the bundler's messages. */
export async function compile(
  { root, facts }: { readonly root: string; readonly facts: BuildFacts },
  outfile: string,
  target?: { readonly target: Bun.Build.CompileTarget; readonly executablePath: string },
): Promise<void> {
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
      plugins: [oneZod],
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
        ...target,
      },
    })
  } catch (error) {
    const all = error instanceof AggregateError ? error.errors.map(String) : [errorMessage(error)]
    throw new Error(all.slice(0, 5).join('; '), { cause: error })
  }
  await chmod(outfile, 0o755)
}
