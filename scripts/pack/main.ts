// npm run pack:client, npm run pack:command: packs one of the packages and prints the path of the file. A folder may follow.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './bundle.ts'
import { packClient } from './pack-client.ts'
import { packCommand } from './pack-command.ts'

const [kind, folder = join(root, 'dist', 'packages')] = process.argv.slice(2)
await mkdir(folder, { recursive: true })
console.log(await (kind === 'command' ? packCommand(folder) : packClient(folder)))
