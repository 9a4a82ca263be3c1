import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Settings } from '../../icl/start/settings.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { runCommand } from '../../lib/host/run-command.ts'
import { baseUrlVariable, builtInNames, defaultKeyVariable } from '../../lib/providers.ts'
import { environmentFields, variableOf } from '../../node/config.ts'
import { adminIn } from '../icl/admin/admin-store.ts'
import { testFolder } from '../test-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (...path: readonly string[]) => readFileSync(join(root, ...path), 'utf8')

const files = readdirSync(join(root, 'packaging'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ya?ml|example|service|conf|Containerfile)$/.test(name))
  .map((name) => ({ name, text: read('packaging', name) }))

const withoutComments = (text: string) => text.replace(/^\s*#.*$/gm, '')
const namesIn = (text: string, pattern: RegExp) => new Set(text.match(pattern) ?? [])

const iclSetting = /\bSVC_ICL_(?!ENDPOINT\b)[A-Z_]+/g
const nodeSetting = /\b(?:SVC_(?!ICL_(?!ENDPOINT\b))[A-Z_]+|[A-Z]+_API_KEY)\b/g

describe('the files that install the service', () => {
  it('name only settings that the ICL has', () => {
    expect(files.length).toBeGreaterThan(8)
    const unknown = files.flatMap(({ name, text }) =>
      [...namesIn(text, iclSetting)]
        .filter((setting) => !Object.hasOwn(Settings.shape, setting))
        .map((setting) => `${name}: ${setting}`),
    )
    expect(unknown).toEqual([])
  })

  it('keep the database of the image where its user may write', () => {
    const image = read('packaging', 'containers', 'icl.Containerfile')
    const [, folder] = /^VOLUME (\S+)$/m.exec(image) ?? []
    expect(image).toContain(`SVC_ICL_DATABASE_URL=sqlite:${folder}/`)
    expect(image).toContain(`chown 65532:65532 ${folder}`)
  })

  it('name only settings that the node reads', () => {
    const sources = ['node/config-file.ts', 'lib/host/password.ts']
    const known = new Set([
      ...namesIn(sources.map((file) => read(file)).join('\n'), nodeSetting),
      ...environmentFields.map(variableOf),
      ...builtInNames.flatMap((name) => [defaultKeyVariable(name), baseUrlVariable(name)]),
    ])
    const unknown = files.flatMap(({ name, text }) =>
      [...namesIn(text, nodeSetting)]
        .filter((setting) => !known.has(setting))
        .map((setting) => `${name}: ${setting}`),
    )
    expect(unknown).toEqual([])
  })

  it.each([
    ['compose', 'compose.yaml'],
    ['kubernetes', 'icl.yaml'],
  ])(
    'start the ICL with what `admin init` writes, and the address file: %s',
    async (folder, name) => {
      const text = withoutComments(read('packaging', folder, name))
      const file = join(testFolder(), 'icl.env')
      const asked = {
        SVC_ICL_PUBLIC_URL: 'https://icl.example',
        SVC_ICL_RPC_URL: 'https://rpc.example',
      }
      expect(await adminIn(asked, ['init', file])).toMatchObject({ code: 0 })
      const written = readFileSync(file, 'utf8')
      const [, deployment = ''] = /^SVC_ICL_DEPLOYMENT=(.+)$/m.exec(written) ?? []
      const mount = new RegExp(`(target|mountPath): (${deployment}|${dirname(deployment)})$`, 'm')
      expect(text).toMatch(mount)
      const given = new Set([...namesIn(text, iclSetting), ...namesIn(written, iclSetting)])
      const needed = Object.entries(Settings.shape)
        .filter(([, type]) => !type.safeParse(undefined).success)
        .map(([setting]) => setting)
        // The address file has them.
        .filter((setting) => !/_(CHAIN_ID|REGISTRY|STORE)$/.test(setting))
      expect(needed).toHaveLength(4)
      expect(needed.filter((setting) => !given.has(setting))).toEqual([])
    },
  )

  it('probe paths that the ICL serves', () => {
    const probed = files.flatMap(({ text }) =>
      [...text.matchAll(/(?:path: |127\.0\.0\.1:8080)(\/(?:livez|readyz|metrics)\w*)/g)].map(
        ([, path]) => path,
      ),
    )
    expect(new Set(probed).size).toBe(3)
    const served = Object.values(endpoints).flatMap(({ method, path }) =>
      method === 'GET' ? [path as string] : [],
    )
    expect(probed.filter((path) => !served.includes(path ?? ''))).toEqual([])
  })

  it('run Kubo in the version that the tests run', async () => {
    const url = new URL('../../scripts/tools.mjs', import.meta.url).href
    const { kubo }: { readonly kubo: () => { readonly version: string } } = await import(url)
    const images = files.flatMap(({ text }) => text.match(/ipfs\/kubo:\S+/g) ?? [])
    expect(new Set(images)).toEqual(new Set([`ipfs/kubo:${kubo().version}`]))
  })

  it('take Kubo online by the commands of docs/operations.md', async () => {
    const page = read('docs', 'operations.md').replaceAll(/\s+/g, ' ')
    const [, change = ''] = /`sed '([^']+)' kubo\.yaml \| kubectl apply -f -`/.exec(page) ?? []
    const kubo = join(root, 'packaging', 'kubernetes', 'kubo.yaml')
    const { stdout } = await runCommand(['sed', change, kubo], { timeoutMs: 60_000 })
    expect(stdout).toContain('args: [daemon, --migrate=true]\n')
    expect(stdout).toContain('\n  egress: [{}]\n')
    const [, added = ''] = /`docker compose -f compose\.yaml -f (\S+) up -d`/.exec(page) ?? []
    expect(read('packaging', 'compose', added)).toContain('command: [daemon, --migrate=true]\n')
  })
})
