import { SvcError } from '../../lib/svc-error.ts'

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

const target = (
  name: string,
  bunTarget: Bun.Build.CompileTarget,
  runtime: string,
  extension = '',
): Target => ({
  name,
  bunTarget,
  runtimePackage: `@oven/bun-${runtime}`,
  file: `svc-node-${name}${extension}`,
})

/** Every platform, in the order of the builds. */
export const targets: readonly Target[] = [
  target('linux-x64', 'bun-linux-x64', 'linux-x64'),
  target('linux-x64-musl', 'bun-linux-x64-musl', 'linux-x64-musl'),
  target('linux-arm64', 'bun-linux-arm64', 'linux-aarch64'),
  target('linux-arm64-musl', 'bun-linux-arm64-musl', 'linux-aarch64-musl'),
  target('darwin-arm64', 'bun-darwin-arm64', 'darwin-aarch64'),
  target('darwin-x64', 'bun-darwin-x64', 'darwin-x64'),
  target('windows-x64', 'bun-windows-x64', 'windows-x64', '.exe'),
]

/** Returns the target with this name. Throws SvcError `usage`. */
export function targetNamed(name: string): Target {
  const found = targets.find((one) => one.name === name)
  if (found !== undefined) return found
  throw new SvcError('usage', `there is no target ${name}`, {
    hint: `Choose from ${targets.map((one) => one.name).join(', ')}.`,
  })
}
