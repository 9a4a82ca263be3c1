// npm run pack:client, npm run pack:command
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { option } from '../../lib/host/program/option.ts'
import { runOnly } from '../../lib/host/program/run-program.ts'
import { root } from './bundle.ts'
import { packClient } from './pack-client.ts'
import { packCommand } from './pack-command.ts'

const [kind, ...args] = process.argv.slice(2)
const isCommand = kind === 'command'
await runOnly(
  `npm run pack:${kind} --`,
  {
    summary: `Pack ${isCommand ? 'the commands of clients' : "the clients' library"} for npm, and print the path of the file`,
    args: z.object({ folder: option(z.string().default('dist/packages'), 'FOLDER', 'Where to') }),
    run: async ({ folder }, { print }) => {
      const into = resolve(root, folder)
      await mkdir(into, { recursive: true })
      print(await (isCommand ? packCommand(into) : packClient(into)))
    },
  },
  { args },
)
