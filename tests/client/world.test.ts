import { afterAll, afterEach } from 'vitest'
import { testExamples } from '../examples/example-tests.ts'
import { startClientWorld } from './client-world.ts'
import { testInfer } from './infer/infer-tests.ts'
import { testPython } from './python/ask-tests.ts'

// Nodes take long to start, so that one world serves all tests of a client's programs.
const place = await startClientWorld()
afterEach(() => place.release())
afterAll(() => place.stop(), 60_000)

testInfer(() => place)
testExamples(() => place)
testPython(() => place)
