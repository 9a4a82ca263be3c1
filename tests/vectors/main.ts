// npm run vectors: makes the files of vectors anew. Their difference shows what changed in the protocol.
import { writeFile } from 'node:fs/promises'
import { vectorFiles, vectorPath, vectorText } from './files.ts'

for (const [name, make] of Object.entries(vectorFiles)) {
  await writeFile(vectorPath(name), vectorText(await make()))
}
