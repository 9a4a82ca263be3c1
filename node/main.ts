import { runCommandLine } from './command-line.ts'
import { commands } from './commands/table.ts'

await runCommandLine('svc-node', commands)
