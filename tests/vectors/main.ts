import { writeFile } from 'node:fs/promises'
import { runOnly } from '../run-program.ts'
import { vectorFiles, vectorPath, vectorText } from './files.ts'

await runOnly('npm run vectors --', {
  summary: 'Make the files of vectors anew. Their difference shows what changed in the protocol.',
  run: async () => {
    for (const [name, make] of Object.entries(vectorFiles)) {
      await writeFile(vectorPath(name), vectorText(await make()))
    }
  },
})
