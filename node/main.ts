import { endBySignals } from '../lib/host/end-by-signals.ts'
import { runCommandLine } from './command-line.ts'
import { commands } from './command-table.ts'

endBySignals()
await runCommandLine('svc-node', commands)
