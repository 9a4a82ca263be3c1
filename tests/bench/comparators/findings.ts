import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a measurement leaves behind. */
export type Findings = {
  /** For the terminal. */
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly plots: readonly { readonly file: string; readonly svg: string }[]
}

/** Writes the figures and the plots where they are wanted. */
export async function writeFindings(
  { json, plots }: Findings,
  wanted: { readonly json?: string | undefined; readonly plots?: string | undefined },
): Promise<void> {
  if (wanted.json !== undefined) await writeFile(wanted.json, `${JSON.stringify(json, null, 1)}\n`)
  if (wanted.plots === undefined) return
  await mkdir(wanted.plots, { recursive: true })
  for (const { file, svg } of plots) await writeFile(join(wanted.plots, file), svg)
}
