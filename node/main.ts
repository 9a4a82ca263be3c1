import { endBySignals } from '../lib/host/end-by-signals.ts'
import { runHere } from '../lib/host/program/run-program.ts'
import { contextHere } from './commands/context.ts'

endBySignals()
await runHere(async () => (await import('./command-table.ts')).svcNode, contextHere, {
  isService: process.argv[2] === 'run',
})
