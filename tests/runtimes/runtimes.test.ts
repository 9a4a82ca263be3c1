import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type IclRuntime, iclRuntimes, programOf } from '../../demo/runtime-programs.ts'
import type { LocalServer } from '../local-server.ts'
import { startPackedServer } from '../packed-server.ts'
import { checks, objectChecks } from './checks.ts'
import { outgoingCases } from './inside/outgoing.ts'
import { cases } from './inside/run-cases.ts'
import { runInside } from './inside/runtimes.ts'
import { dealWith, type RunningIcl } from './running-icl.ts'
import { type RuntimesWorld, startRuntimesWorld } from './world.ts'

let world: RuntimesWorld
let packed: LocalServer
beforeAll(async () => {
  world = await startRuntimesWorld()
  packed = await startPackedServer()
})
afterAll(async () => {
  await packed.close()
  await world.stop()
})

const names = [...cases, ...outgoingCases('')].map(({ name }) => name)

/** Where everything is tested (CI), a missing runtime is a failure. */
function whyNot(runtime: IclRuntime): string | undefined {
  if (programOf(runtime) !== undefined) return undefined
  const missing = `${runtime} is not installed`
  if (process.env.CI === 'true') throw new Error(missing)
  return missing
}

for (const runtime of iclRuntimes) {
  describe(`on ${runtime}`, () => {
    const missing = whyNot(runtime)
    if (missing) {
      it.skip(missing, () => {})
      return
    }

    it('what clients, nodes and ICLs have in common does the same', async () => {
      const results = await runInside(runtime, programOf(runtime) ?? '', packed.url)
      expect(results.filter(({ error }) => error !== undefined)).toEqual([])
      expect(results.map((result) => result.name)).toEqual(names)
    })

    let icl: RunningIcl
    beforeAll(async () => {
      icl = dealWith(world, runtime, await world.start(runtime))
    })
    afterAll(() => world.processes.stop([icl.process.process]))

    for (const check of [...checks, ...(runtime === 'workerd' ? objectChecks : [])]) {
      it(`an ICL passes: ${check.name}`, async () => {
        await check.run(icl)
      })
    }
  })
}
