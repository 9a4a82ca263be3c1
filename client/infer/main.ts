// Sends one prompt and prints its answer: npm run infer -- "PROMPT"
import { inferHere } from './infer-here.ts'

await inferHere(process.argv.slice(2))
