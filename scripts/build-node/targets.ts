import { SvcError } from '../../lib/svc-error.ts'

/** A platform that the executable is built for. */
export type Target = {
  readonly name: string
  /** What `Bun.build` calls it. */
  readonly bunTarget: Bun.Build.CompileTarget
  /** The npm package that holds its Bun runtime. */
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

/** Every platform, in the order in which they are built. */
export const targets: readonly Target[] = [
  target('linux-x64', 'bun-linux-x64', 'linux-x64'),
  target('linux-x64-musl', 'bun-linux-x64-musl', 'linux-x64-musl'),
  target('linux-arm64', 'bun-linux-arm64', 'linux-aarch64'),
  target('linux-arm64-musl', 'bun-linux-arm64-musl', 'linux-aarch64-musl'),
  target('darwin-arm64', 'bun-darwin-arm64', 'darwin-aarch64'),
  target('darwin-x64', 'bun-darwin-x64', 'darwin-x64'),
  target('windows-x64', 'bun-windows-x64', 'windows-x64', '.exe'),
]

/** The target with this name; throws SvcError `usage`. */
export function targetNamed(name: string): Target {
  const found = targets.find((one) => one.name === name)
  if (found !== undefined) return found
  throw new SvcError('usage', `there is no target ${name}`, {
    hint: `Choose from ${targets.map((one) => one.name).join(', ')}.`,
  })
}
