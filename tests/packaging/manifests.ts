import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { Settings } from '../../icl/start/settings.ts'
import { endpoints } from '../../lib/endpoints.ts'

const root = join(import.meta.dirname, '..', '..')
const packaging = join(root, 'packaging')

/** A file of packaging/ as text. */
export const readPackaging = (...path: readonly string[]): Promise<string> =>
  readFile(join(packaging, ...path), 'utf8')

/** The YAML document of a file; merge keys are applied. */
export const readYaml = async (...path: readonly string[]): Promise<unknown> =>
  parse(await readPackaging(...path), { merge: true })

/** Every YAML document of a file; throws at the first mistake. */
export async function readDocuments(...path: readonly string[]): Promise<readonly unknown[]> {
  return parseAllDocuments(await readPackaging(...path)).map((document) => {
    const [mistake] = document.errors
    if (mistake) throw mistake
    return document.toJS() as unknown
  })
}

/** The names that an environment file sets, those behind a `#` included when asked for. */
export const namesIn = (text: string, withComments = false): readonly string[] =>
  [...text.matchAll(withComments ? /^#?([A-Z][A-Z_]+)=/gm : /^([A-Z][A-Z_]+)=/gm)].flatMap(
    ([, name]) => name ?? [],
  )

/** Every setting of the ICL, and those that it does not start without. */
export const iclSettings = {
  all: Object.keys(Settings.shape),
  required: Object.entries(Settings.shape)
    .filter(([, type]) => !type.safeParse(undefined).success)
    .map(([name]) => name),
}

const variable = /\b(?:SVC_[A-Z_]+|[A-Z]+_API_KEY)\b/g

/** Every variable that svc-node reads. */
export async function nodeVariables(): Promise<readonly string[]> {
  const files = ['config.ts', 'password.ts', join('inference', 'provider-call.ts')]
  const texts = await Promise.all(files.map((file) => readFile(join(root, 'node', file), 'utf8')))
  return texts.flatMap((text) => text.match(variable) ?? [])
}

/** Every address that answers a GET without parameters. */
export const getPaths: readonly string[] = Object.values(endpoints)
  .filter(({ method, path }) => method === 'GET' && !path.includes('{'))
  .map(({ path }) => path)

type Tools = { readonly kubo: () => { readonly version: string } }

/** The version of Kubo that the tests run with. */
export async function kuboVersion(): Promise<string> {
  const url = new URL('../../scripts/tools.mjs', import.meta.url).href
  return ((await import(url)) as Tools).kubo().version
}
