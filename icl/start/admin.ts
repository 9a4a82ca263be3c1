import { z } from 'zod'
import { completionCommand } from '../../lib/host/program/completion.ts'
import { json } from '../../lib/host/program/option.ts'
import { command, type Program } from '../../lib/host/program/program.ts'
import { clientCommands } from './admin-clients.ts'
import type { AdminTerminal } from './admin-command.ts'
import { effectCommands } from './admin-effects.ts'
import { initCommand } from './admin-init.ts'
import { keyCommands } from './admin-keys.ts'
import { nodeCommands } from './admin-nodes.ts'
import { revokeCommands } from './admin-revoke.ts'
import { storeCommands } from './admin-store.ts'

const doctor = command({
  name: 'doctor',
  summary: 'Check settings, database, chain, coordinator, coprocessor, blobs and addresses',
  options: z.object({ json }),
  run: async ({ json }, terminal: AdminTerminal) => {
    const { examine } = await import('./admin-doctor.ts')
    return examine(json, terminal)
  },
})

/** The commands of the ICL's operator. */
export const adminProgram: Program<AdminTerminal> = {
  typed: 'npm run icl -- admin',
  shellWords: ['svc-icl-as-service', 'admin'],
  about:
    'Works on the database that SVC_ICL_DATABASE_URL names, or on the file that it follows, while the ICL runs.',
  commands: [
    initCommand,
    ...nodeCommands,
    ...revokeCommands,
    ...keyCommands,
    ...clientCommands,
    ...effectCommands,
    ...storeCommands,
    doctor,
    completionCommand(() => adminProgram),
  ],
}
