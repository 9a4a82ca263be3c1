import { inferHere } from '../infer/infer-here.ts'
import { createThreadProver } from './thread-prover.ts'

await inferHere(process.argv.slice(3), createThreadProver())
