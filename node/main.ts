import { runCommandLine } from './command-line.ts'
import { commands } from './command-table.ts'

await runCommandLine('svc-node', commands)
