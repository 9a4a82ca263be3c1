import { gatewayHere } from '../gateway/run-gateway.ts'
import { listen } from './listen.ts'
import { createThreadProver } from './thread-prover.ts'

await gatewayHere(process.argv.slice(3), { listen, prover: createThreadProver() })
