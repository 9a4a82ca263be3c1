import { runCases } from './run-cases.ts'

// What a browser's page runs: it calls this when it is told to.
Object.assign(globalThis, { runCases })
