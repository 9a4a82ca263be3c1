import { cpus } from 'node:os'
import { z } from 'zod'
import { storeKey } from '../../lib/chain/prompt-key-store.ts'
import { Hash32 } from '../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import type { EncryptNews } from '../../lib/coprocessor/coprocessor.ts'
import { createProcessProver } from '../../lib/host/coprocessor/process-prover.ts'
import { option, WholeNumber } from '../../lib/host/program/option.ts'
import { CoprocessorSetting } from '../../lib/schemas/coprocessor-urls.ts'
import { systemClock } from '../../lib/system.ts'
import { startCoprocessorWorld } from '../contracts/local/coprocessor-world.ts'
import { print, runOnly } from '../run-program.ts'
import { peakBytes, watchEventLoop, watchPeak } from './proof-measures.ts'
import { table } from './table.ts'

type Run = {
  readonly prepare_ms: number
  readonly prove_ms: number
  readonly verify_ms: number
  readonly store_ms: number
  readonly permit_ms: number
  readonly decrypt_ms: number
  readonly proof_bytes: number
  /** How long the event loop was held up at most: while keys were fetched and the work handed over, and from then on. */
  readonly gap_preparing_ms: number
  readonly gap_proving_ms: number
}

type World = Awaited<ReturnType<typeof startCoprocessorWorld>>

const idleMs = 10_000
let handedOver = () => {}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const began = performance.now()
  return [await work(), performance.now() - began]
}

async function bench(runs: number): Promise<void> {
  // A local chain and a real local coprocessor, each in its process; the first start makes its keys (minutes).
  const world = await startCoprocessorWorld()
  try {
    await benchIn(world, runs)
  } finally {
    await world.stop()
  }
}

async function benchIn(world: World, runs: number): Promise<void> {
  const writer = world.wallet(1)
  const child = watchPeak()
  const { rpcUrl, chainId } = world.anvil
  const deaths: string[] = []
  const coprocessor = createCofheCoprocessor({
    rpcUrl,
    chainId,
    account: writer.walletClient.account,
    clock: systemClock,
    coprocessor: CoprocessorSetting.parse(world.coprocessor.url),
    prover: createProcessProver({
      clock: systemClock,
      onStart: (pid) => {
        child.follow(pid)
        // Once what it takes to send the keys is over.
        setTimeout(handedOver, 100)
      },
      onDeath: (why) => deaths.push(why),
    }),
  })
  // What the machine does besides holds the loop up as well: this much with nothing to do.
  const idle = watchEventLoop()
  await systemClock.sleep(idleMs)
  const gap_idle_ms = idle.stop()
  const done: Run[] = []
  for (let run = 0; run < runs; run++) done.push(await once(world, writer, coprocessor))
  if (deaths.length > 0) throw new Error(`Proof processes died: ${deaths.join('; ')}`)
  const peaks = {
    gap_idle_ms,
    parent_peak_bytes: await peakBytes('self'),
    child_peak_bytes: child.stop(),
  }
  tell(done, peaks)
}

async function once(
  world: World,
  writer: ReturnType<World['wallet']>,
  coprocessor: ReturnType<typeof createCofheCoprocessor>,
): Promise<Run> {
  const high = BigInt(`0x${crypto.randomUUID().replaceAll('-', '')}`)
  const news: EncryptNews[] = []
  const loop = watchEventLoop()
  let gap_preparing_ms = 0
  handedOver = () => {
    gap_preparing_ms = loop.lap()
  }
  const encrypted = await coprocessor.encrypt(high, 1n, { onStep: (item) => news.push(item) })
  const gap_proving_ms = loop.stop()
  const ended = (step: string) =>
    news.findLast((item) => item.step === step && item.phase === 'end')
  const terms = Hash32.parse(`0x${'00'.repeat(32)}`)
  const stored = { ...writer, contract: world.contracts.promptKeyStore, ...encrypted, terms }
  const [{ highHandle }, store] = await timed(() => storeKey(stored))
  const [, permit] = await timed(() => coprocessor.makePermit())
  const [opened, decrypt] = await timed(() => coprocessor.decrypt(highHandle))
  if (opened !== high) throw new Error('What was decrypted is not what was encrypted')
  return {
    prepare_ms: Math.round(ended('prepare')?.elapsedMs ?? Number.NaN),
    prove_ms: Math.round(ended('prove')?.elapsedMs ?? Number.NaN),
    verify_ms: Math.round(ended('verify')?.elapsedMs ?? Number.NaN),
    store_ms: Math.round(store),
    permit_ms: Math.round(permit),
    decrypt_ms: Math.round(decrypt),
    proof_bytes: ended('prove')?.proofBytes ?? Number.NaN,
    gap_preparing_ms,
    gap_proving_ms,
  }
}

function tell(done: readonly Run[], peaks: Record<string, number | undefined>): void {
  const names = Object.keys(done[0] ?? {}) as (keyof Run)[]
  const rows = names.map((name) => [name, ...done.map((run) => String(run[name]))])
  print(table([['', ...done.map((_, index) => `run ${index + 1}`)], ...rows]))
  const megabytes = (bytes: number | undefined) => `${((bytes ?? Number.NaN) / 1e6).toFixed(0)} MB`
  const { parent_peak_bytes: parent, child_peak_bytes: child, gap_idle_ms } = peaks
  print(`Longest gap in ${idleMs / 1000} s with nothing to do: ${gap_idle_ms} ms`)
  print(`Memory at most: parent ${megabytes(parent)}, proof process ${megabytes(child)}`)
  print(`Bun ${Bun.version}; ${cpus()[0]?.model}`)
}

await runOnly('npm run bench:proof --', {
  summary: 'Encrypt a key with a real proof, store it and decrypt it again.',
  options: z.object({ runs: option(WholeNumber(1, 1_000).default(1), 'N', 'How often') }),
  run: async ({ runs }) => {
    await bench(runs)
  },
})
