import { afterAll, afterEach, beforeAll } from 'vitest'
import { testExamples } from '../examples/example-tests.ts'
import { type ClientWorld, startClientWorld } from './client-world.ts'
import { testInfer } from './infer/infer-tests.ts'
import { testPython } from './python/ask-tests.ts'

// Nodes take long to start, so that one world serves all tests of a client's programs.
let place: ClientWorld
beforeAll(async () => {
  place = await startClientWorld()
}, 180_000)
afterEach(() => place?.release())
afterAll(() => place?.stop(), 60_000)

testInfer(() => place)
testExamples(() => place)
testPython(() => place)
