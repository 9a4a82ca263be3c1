import { readCommandLine } from '../command-line.ts'
import { observeAll } from './observe.ts'

const usage = `npm run causes

Injects faults at the provider, the chain RPC, the coprocessor and the node. Prints what node,
client and console say of each.
`
readCommandLine(usage, {})
for (const { fault, code, node, client, console } of await observeAll()) {
  process.stdout.write(
    [
      fault,
      `  ${code}`,
      `  node     ${node}`,
      `  client   ${client}`,
      `  console  ${console}`,
      '',
    ].join('\n'),
  )
}
process.exit()
