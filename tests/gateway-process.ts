import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientEnvironment } from '../demo/client-environment.ts'
import type { Processes } from '../demo/processes.ts'
import type { World } from '../demo/world.ts'
import { elapsedSince } from '../lib/clock.ts'
import { systemClock } from '../lib/system.ts'

const main = join(import.meta.dirname, '..', 'client', 'gateway', 'main.ts')
const startMs = 60_000

/** Starts a gateway of a world with default settings and any free port; returns its address. */
export async function startGateway(
  processes: Processes,
  world: Pick<World, 'chain' | 'icl' | 'folder'>,
): Promise<string> {
  const env = await clientEnvironment(world)
  const gateway = processes.start({ name: 'gateway', args: [main, '--port', '0'], env })
  const began = systemClock.monotonic()
  for (;;) {
    const log = await readFile(gateway.logFile, 'utf8')
    const url = /^Gateway at (http:\S+)$/m.exec(log)?.[1]
    if (url !== undefined) return url
    if (gateway.hasExited() || elapsedSince(systemClock, began) > startMs) throw new Error(log)
    await systemClock.sleep(100)
  }
}
