import { listen } from './listen.ts'
import { runIcl } from './run-icl.ts'

await runIcl(listen)
