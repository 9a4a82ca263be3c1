// Checks a receipt without a network: everybody who has the file can.

import { readFile } from 'node:fs/promises'
import { agreedIn, describeAgreed, Receipt, receiptHash, verifyReceipt } from '../lib/client/mod.ts'

const text = await readFile(process.env.RECEIPT_FILE ?? 'receipt.json', 'utf8')
const receipt = Receipt.parse(JSON.parse(text))

await verifyReceipt(receipt) // throws an SvcError `receipt-invalid` that says what does not hold
const { model_id: model } = receipt.list.terms
console.log(`${model} answered ${receipt.client}: ${describeAgreed(agreedIn(receipt))}`)
console.log(`compare with the chain: ${await receiptHash(receipt)}`)
