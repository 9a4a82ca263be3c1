// npm run causes
// Puts in faults at the provider, the chain RPC, the coprocessor and the node, and prints what each is told as.
import { observeAll } from './observe.ts'

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
