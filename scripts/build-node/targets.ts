/** A platform of the executable. */
export type Target = {
  readonly name: string
  /** The name for `Bun.build`. */
  readonly bunTarget: Bun.Build.CompileTarget
  /** The npm package with its Bun runtime. */
  readonly runtimePackage: string
  /** The name of the executable. */
  readonly file: string
}

const linux = ['linux-x64', 'linux-x64-musl', 'linux-arm64', 'linux-arm64-musl'] as const

/** Every platform, in the order of the builds. */
export const targets: readonly Target[] = (
  [...linux, 'darwin-arm64', 'darwin-x64', 'windows-x64'] as const
).map((name) => ({
  name,
  bunTarget: `bun-${name}`,
  runtimePackage: `@oven/bun-${name.replace('arm64', 'aarch64')}`,
  file: name === 'windows-x64' ? `svc-node-${name}.exe` : `svc-node-${name}`,
}))

/** Their names, in the same order. */
export const targetNames: readonly string[] = targets.map(({ name }) => name)

/** Returns the targets with these names. */
export const targetsNamed = (names: readonly string[]): readonly Target[] =>
  targets.filter(({ name }) => names.includes(name))
