import { cac } from 'cac'
import { exitCodeOf, exitCodes } from './exit-code.ts'
import { version } from './version.ts'

const cli = cac('svc-node')
cli.option('-v, --version', 'Print the version')
cli.help()

cli
  .command('init', 'Create the configuration and the wallet keystore')
  .option('--icl-endpoint <url>', 'ICL base address (SVC_ICL_ENDPOINT)')
  .option('--cofhe-endpoint <url>', 'Chain RPC address for FHE operations (SVC_COFHE_ENDPOINT)')
  .option('--ipfs-gateway <url>', 'IPFS gateway (SVC_IPFS_GATEWAY); the ICL itself by default')
  .option('--models <ids>', 'Models to serve, comma separated (SVC_SUPPORTED_MODEL_IDS)')
  .option('--attestation-backend <name>', 'mock or tpm; mock by default')
  .option(
    '--scrypt-n <n>',
    'Cost of the keystore, a power of two of at least 4096; 262144 by default',
  )
  .option('--force', 'Replace what exists; an old keystore is kept under its address')
  .option('--json', 'Print JSON')
  .action(async (flags) => {
    const { initialise } = await import('./commands/init.ts')
    await initialise(flags, await contextOf())
  })

cli
  .command('attest', 'Attest with the ICL')
  .option('--mock', 'Use the mock backend, whatever is configured')
  .option('--json', 'Print JSON')
  .action(async (flags) => {
    const { attestOnce } = await import('./commands/attest.ts')
    await attestOnce(flags, await contextOf())
  })

cli.command('run', 'Start the daemon').action(async () => {
  const { runNode } = await import('./commands/run.ts')
  await runNode(await contextOf())
})

async function contextOf() {
  const { systemClock, systemRandom } = await import('../lib/system.ts')
  return {
    environment: process.env,
    terminal: { input: process.stdin, output: process.stderr },
    fetch: (request: Request) => fetch(request),
    clock: systemClock,
    random: systemRandom,
    print: (line: string) => console.log(line),
  }
}

async function main(): Promise<number> {
  cli.parse(process.argv, { run: false })
  if (cli.options.help) return exitCodes.done
  if (cli.options.version) {
    console.log(version)
    return exitCodes.done
  }
  if (cli.matchedCommand === undefined) {
    const [name] = cli.args
    console.error(name === undefined ? 'error: no command given' : `error: no command ${name}`)
    console.error('hint: see `svc-node --help`')
    return exitCodes.usage
  }
  await cli.runMatchedCommand()
  return exitCodes.done
}

async function reportFailure(error: unknown): Promise<number> {
  const { explainError } = await import('./explain-error.ts')
  const exitCode = exitCodeOf(error)
  const { message, hint = exitCode === exitCodes.usage ? 'see `svc-node --help`' : undefined } =
    explainError(error)
  console.error(`error: ${message}`)
  if (hint !== undefined) console.error(`hint: ${hint}`)
  if (process.env.DEBUG) console.error(error)
  return exitCode
}

const exitCode = await main().catch(reportFailure)
// What an abandoned job still waits for must not keep the process.
process.exit(exitCode)
