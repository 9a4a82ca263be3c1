// Checks a receipt without a network: everybody who has the file can.

import { readFile } from 'node:fs/promises'
import { Receipt, receiptHash, verifyReceipt } from '../lib/client/mod.ts'

const text = await readFile(process.env.RECEIPT_FILE ?? 'receipt.json', 'utf8')
const receipt = Receipt.parse(JSON.parse(text))

await verifyReceipt(receipt) // throws an SvcError `receipt-invalid` that says what does not hold
console.log(
  `${receipt.model_id} answered ${receipt.client}; the nodes agreed, and the ICL counted right`,
)
console.log(`compare with the chain: ${await receiptHash(receipt)}`)
