import { createHash } from 'node:crypto'
import { z } from 'zod'
import { runCommand } from '../../lib/host/run-command.ts'
import { type Lock, readLock } from '../build-node/lock.ts'

const timeoutMs = 120_000

const Component = z
  .object({
    'bom-ref': z.string(),
    name: z.string(),
    version: z.string(),
    hashes: z.array(z.object({ alg: z.string(), content: z.string() })).optional(),
  })
  .loose()
const Bill = z
  .object({
    bomFormat: z.literal('CycloneDX'),
    metadata: z
      .object({ component: z.object({ 'bom-ref': z.string(), name: z.string() }).loose() })
      .loose(),
    components: z.array(Component).min(1),
    dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
  })
  .loose()

const byRef = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** Makes the bill of materials (CycloneDX): npm's packages that are needed to run, and Bun. The same commit gives the same text. */
export async function makeBill(
  root: string,
  facts: { readonly name: string; readonly time: number; readonly bun: string },
): Promise<string> {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application']
  // --omit=dev would also leave out packages that are needed both to develop and to run. So `usedBy` chooses the packages.
  const command = ['npm', ...args, '--package-lock-only'] as const
  const { code, stdout, stderr } = await runCommand(command, { cwd: root, timeoutMs })
  if (code !== 0) throw new Error(`npm sbom ended with ${code}: ${stderr.trim()}`)
  const bill = Bill.parse(JSON.parse(stdout))
  const bun = {
    'bom-ref': `bun@${facts.bun}`,
    type: 'framework',
    name: 'bun',
    version: facts.bun,
    purl: `pkg:npm/bun@${facts.bun}`,
  }
  const { component } = bill.metadata
  const used = usedBy(bill, component['bom-ref'], await readLock(root))
  const whole = {
    ...bill,
    serialNumber: undefined,
    // npm adds its own version, the time and the folder. None of them is about the release.
    metadata: {
      timestamp: new Date(facts.time * 1000).toISOString(),
      tools: [{ vendor: 'npm', name: 'cli' }],
      component: { ...component, name: facts.name },
    },
    components: [...bill.components.filter((one) => used.has(one['bom-ref'])), bun].sort((a, b) =>
      byRef(a['bom-ref'], b['bom-ref']),
    ),
    dependencies: [...bill.dependencies, { ref: bun['bom-ref'], dependsOn: [] }]
      .filter(({ ref }) => used.has(ref) || ref === component['bom-ref'] || ref === bun['bom-ref'])
      .map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: dependsOn.filter((one) => used.has(one)).sort(byRef),
      }))
      .sort((a, b) => byRef(a.ref, b.ref)),
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(whole))}`
  return `${JSON.stringify({ ...whole, serialNumber }, undefined, 2)}\n`
}

/** Returns the packages that are needed to run: the root's dependencies and theirs, without those for development or other users. */
function usedBy(
  { components, dependencies }: z.output<typeof Bill>,
  rootRef: string,
  lock: Lock,
): ReadonlySet<string> {
  const direct = lock.packages['']
  const names = Object.keys({ ...direct?.dependencies, ...direct?.optionalDependencies })
  const needed = new Set(
    Object.entries(lock.packages)
      .filter(([, { dev, devOptional }]) => !dev && !devOptional)
      .map(([path, entry]) => idOf(path, entry)),
  )
  const parts = new Map(components.map((one) => [one['bom-ref'], one]))
  const isNeeded = (ref: string) => {
    const one = parts.get(ref)
    return one !== undefined && needed.has(`${one.name}@${one.version}`)
  }
  const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn.filter(isNeeded)]))
  const isDirect = (ref: string) => names.includes(parts.get(ref)?.name ?? '')
  const used = new Set((needs.get(rootRef) ?? []).filter(isDirect))
  // A set's iteration includes elements that are added during it.
  for (const ref of used) for (const other of needs.get(ref) ?? []) used.add(other)
  return used
}

/** Returns a package's name and version. */
const idOf = (path: string, { name, version }: Lock['packages'][string]): string =>
  `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`

/** Makes a UUID (version 8) from a text. The same text gives the same UUID. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** Compares a bill with package-lock.json, both ways. Returns the differences. */
export function compareWithLock(text: string, lock: Lock): readonly string[] {
  const { components } = Bill.parse(JSON.parse(text))
  const listed = new Map(
    components.map(({ name, version, hashes }) => [
      `${name}@${version}`,
      hashes?.find(({ alg }) => alg === 'SHA-512')?.content,
    ]),
  )
  const locked = new Map<string, string | undefined>()
  const needed = new Set<string>()
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === '' || entry.version === undefined) continue
    const id = idOf(path, entry)
    locked.set(id, entry.integrity)
    const { dev, devOptional, optional, peer } = entry
    if (!dev && !devOptional && !optional && !peer) needed.add(id)
  }
  const hexOf = (integrity: string) =>
    Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  return [
    ...[...needed].filter((id) => !listed.has(id)).map((id) => `${id} is not in the bill`),
    ...[...listed].flatMap(([id, hash]) => {
      if (!locked.has(id)) return [`${id} is not in package-lock.json`]
      const integrity = locked.get(id)
      const isSame = hash === undefined || integrity === undefined || hash === hexOf(integrity)
      return isSame ? [] : [`${id} has another hash than in package-lock.json`]
    }),
  ]
}
