import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Compiles a program of one line into `folder` as svc-node is compiled, to compare with; resolves with its path. */
export async function compileLine(folder: string, name: string, line: string): Promise<string> {
  const source = join(folder, `${name}.ts`)
  const outfile = join(folder, name)
  await writeFile(source, line)
  await Bun.build({
    entrypoints: [source],
    target: 'bun',
    format: 'esm',
    minify: true,
    bytecode: true,
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  })
  return outfile
}
