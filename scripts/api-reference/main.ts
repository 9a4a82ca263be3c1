// Writes docs/api/client.md from the docstrings of the client: npm run docs:api

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientModule, clientReference, referenceFile } from './client-reference.ts'

const root = join(import.meta.dirname, '..', '..')
await writeFile(join(root, referenceFile), await clientReference(root))
console.log(`${referenceFile} is made from ${clientModule}`)
