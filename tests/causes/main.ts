import { runOnly } from '../run-program.ts'
import { observeAll } from './observe.ts'

await runOnly('npm run causes --', {
  summary:
    'Inject faults at the provider, the chain RPC, the coprocessor and the node. Print what node, client and console say of each.',
  run: async (_, { print }) => {
    for (const { fault, code, node, client, console } of await observeAll()) {
      print(fault)
      print(`  ${code}`)
      print(`  node     ${node}`)
      print(`  client   ${client}`)
      print(`  console  ${console}`)
    }
  },
})
