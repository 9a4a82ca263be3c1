// The process of the local coprocessor: bun contracts/local/coprocessor/main.ts --rpc-url URL --data FOLDER

import { errorMessage } from '../../../lib/error-message.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { parseCoprocessorOptions, usage } from './options.ts'
import { warning } from './serve.ts'
import { startLocalCoprocessor } from './start.ts'

const banner = `Local coprocessor, ${warning}.
  Real: encryption, proofs and their verification, permits, the access list on chain.
  Not real: the evaluation key has no security, and one process holds the keys that a network would share.
  Anyone who reads its files, or this machine's memory, can decrypt everything.`

const main = async (): Promise<number | undefined> => {
  try {
    const options = parseCoprocessorOptions(process.argv.slice(2), process.env)
    if (options === undefined) {
      process.stdout.write(usage)
      return 0
    }
    let stop = async () => {}
    // Making keys takes long. An interruption leaves nothing behind.
    const end = () => void stop().then(() => process.exit(0))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end)
    const tell = (line: string) => void process.stdout.write(`${line}\n`)
    tell(banner)
    const started = await startLocalCoprocessor(options, tell)
    stop = started.stop
    tell(`Local coprocessor (${warning}) of chain ${options.chainId} at ${started.url}`)
    return undefined
  } catch (error) {
    process.stderr.write(`Local coprocessor: ${errorMessage(error)}\n`)
    const isWrongUsage = error instanceof SvcError && error.code === 'usage'
    if (isWrongUsage) process.stderr.write(`${error.hint}\n`)
    return isWrongUsage ? 2 : 1
  }
}

const code = await main()
if (code !== undefined) process.exit(code)
