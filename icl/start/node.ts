import { listen } from './listen-node.ts'
import { runIcl } from './run-icl.ts'

await runIcl(listen)
