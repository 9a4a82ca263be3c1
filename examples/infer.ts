// Asks a question, tells the steps, prints the answer, and keeps the receipt.

import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { describeAgreed, inferenceError, Receipt, stepLabels } from '../lib/client/mod.ts'
import { client } from './connect.ts'

const result = await client.infer('What is a lighthouse for?', {
  model: 'openai:gpt-4o-mini',
  onStep: ({ step, phase, elapsedMs }) => {
    if (phase === 'end') console.error(`${stepLabels[step]}: ${elapsedMs} ms`)
  },
})
if (result.status !== 'accepted') throw inferenceError(result)

console.log(result.output)
console.log(describeAgreed(result.agreed))

// A receipt holds numbers that JSON cannot: `z.encode` writes them as text.
const receipt = JSON.stringify(z.encode(Receipt, result.receipt))
await writeFile(process.env.RECEIPT_FILE ?? 'receipt.json', receipt)
