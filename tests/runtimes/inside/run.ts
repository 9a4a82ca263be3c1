import { runCases } from './run-cases.ts'

// What Bun, Node and Deno run: one line of JSON with what came of each case.
// biome-ignore lint/suspicious/noConsole: the line is the answer
console.log(JSON.stringify(await runCases(process.argv[2])))
