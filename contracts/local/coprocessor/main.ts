// The process of the local coprocessor: bun contracts/local/coprocessor/main.ts --rpc-url URL --data FOLDER

import { runOnly } from '../../../lib/host/program/run-program.ts'
import { coprocessorOptions } from './options.ts'
import { warning } from './serve.ts'
import { startLocalCoprocessor } from './start.ts'

const banner = `Local coprocessor, ${warning}.
  Real: encryption, proofs and their verification, permits, the access list on chain.
  Not real: the evaluation key has no security, and one process holds the keys that a network would share.
  Anyone who reads its files, or this machine's memory, can decrypt everything.`

await runOnly(
  'bun contracts/local/coprocessor/main.ts',
  {
    summary: 'Run a local coprocessor. FOR DEVELOPMENT ONLY: it protects nothing.',
    options: coprocessorOptions,
    run: async (given, { print }) => {
      const ended = new Promise<undefined>((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
          process.once(signal, () => resolve(undefined))
        }
      })
      for (const line of banner.split('\n')) print(line)
      // Making keys takes long. The end of the process leaves nothing of them behind.
      const started = await Promise.race([ended, startLocalCoprocessor(given, print)])
      if (started === undefined) return
      print(`Local coprocessor (${warning}) of chain ${given.chainId} at ${started.url}`)
      await ended
      await started.stop()
    },
  },
  { isService: true },
)
