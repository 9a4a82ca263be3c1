import { z } from 'zod'
import { createApi } from '../../lib/api.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import type { Clock } from '../../lib/clock.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { attest } from '../../node/attestation/attest.ts'
import { createAttestor } from '../../node/attestation/attestor.ts'
import { newSigner } from '../../node/attestation/session.ts'
import { type DaemonDeps, runDaemon } from '../../node/daemon.ts'
import { createIclKeys } from '../../node/icl-keys.ts'
import type { Journal } from '../../node/journal/journal.ts'
import { entryOf, type JournalEntry, JournalStep } from '../../node/journal/steps.ts'
import type { Log } from '../../node/log.ts'
import { activeNode } from '../icl/fake-chain.ts'
import { chainId, createLife, mockKey, modelId, origin, walletOf } from '../icl/test-icl.ts'
import { memoryJournal } from '../node/fakes.ts'
import { sampleNetwork } from '../sample-network.ts'
import { privateKeyOf, readerOf } from '../sample-reading.ts'
import { nodeChainOf } from './chain-views.ts'
import type { Dice } from './dice.ts'
import type { Ground } from './ground.ts'
import type { ProviderHabits } from './provider.ts'

/** A machine that a node runs on: what is on its disk outlives every daemon on it. */
export type Machine = Awaited<ReturnType<typeof createMachine>>

const lineOf = (step: JournalStep) => JSON.stringify(z.encode(JournalStep, step))
const takes = { parts: ['teacher' as const] }

/** What a machine is like. */
export type MachineHabits = {
  readonly slots: number
  /** How far its clock is ahead, in milliseconds. */
  readonly skewMs: number
  /** Whether its model says how likely a text is. */
  readonly weighs: boolean
  /** How likely it dies whenever it writes to its journal. */
  dies: number
  readonly provider: ProviderHabits
}

type Daemon = ReturnType<typeof startDaemon>

/** Sets a machine up with a wallet, a stake and an empty disk; the daemon on it is the real one. */
export async function createMachine(ground: Ground, name: string, habits: MachineHabits) {
  const { chain, story, dice } = ground
  const { account, address } = walletOf(`${ground.seed} ${name}`)
  chain.nodes.set(address, activeNode)
  const own = dice.fork(name)
  const place: Place = {
    ground,
    habits,
    wallet: { account, address },
    name,
    own,
    apiKey: `sk-simulated-${own.between(1e9, 2e9)}`,
    steps: [],
    history: [],
    logged: [],
  }
  let daemon: Daemon | undefined
  const stops: AbortController[] = []
  const kill = () => {
    daemon?.kill()
    daemon = undefined
  }
  const start = () => {
    if (daemon) return
    const started = startDaemon(place, () => {
      story.note(name, 'died as it wrote to its journal')
      ground.trouble('node-died-writing')
      kill()
      // As the system does that runs it.
      void ground.clock.sleep(own.between(500, 30_000)).then(start)
    })
    daemon = started
    stops.push(started.stop)
    void started.ended.finally(() => {
      if (daemon === started) daemon = undefined
    })
  }
  return {
    name,
    address,
    habits,
    apiKey: place.apiKey,
    /** What its daemons logged, and wrote to its disk. */
    logged: place.logged as readonly string[],
    get disk(): readonly string[] {
      return [...place.steps.map(lineOf), ...place.history]
    },
    get isUp() {
      return daemon !== undefined
    },
    start,
    /** Ends the daemon as kill -9 does. */
    kill,
    /** Tells the daemon to stop, and resolves when it has. */
    stop: async () => {
      daemon?.stop.abort()
      await daemon?.ended
    },
    /** Kills the daemon, and forgets whatever those before it still wait for. */
    end: () => {
      kill()
      for (const stop of stops) stop.abort()
    },
  }
}

/** What all daemons of one machine have in common. */
type Place = {
  readonly ground: Ground
  readonly habits: MachineHabits
  readonly wallet: Pick<ReturnType<typeof walletOf>, 'account' | 'address'>
  readonly name: string
  readonly own: Dice
  readonly apiKey: string
  readonly steps: JournalStep[]
  readonly history: string[]
  readonly logged: string[]
}

function startDaemon(place: Place, onDeath: () => void) {
  const { ground, name } = place
  const life = createLife()
  let isAlive = true
  const stop = new AbortController()
  const killed = Promise.withResolvers<void>()
  const end = () => {
    isAlive = false
    life.end()
    killed.resolve()
  }
  const die = () => {
    end()
    onDeath()
  }
  const run = async () => {
    const signer = await newSigner(place.wallet.address, place.own)
    const readingKey = await readerOf(privateKeyOf(`${ground.seed} ${name}`))
    await runDaemon(
      depsOf({ ...place, signer, readingKey }, life, () => isAlive, die),
      stop.signal,
    )
  }
  const done = run().catch((error: unknown) => {
    if (!isAlive) return
    ground.story.violate(`the daemon of ${name} ended by itself: ${String(error)}`)
  })
  /** Resolves when it has ended, however that came. */
  const ended = Promise.race([done, killed.promise])
  return { kill: end, stop, ended }
}

function depsOf(
  place: Place & { readonly signer: NodeSigner } & Pick<DaemonDeps, 'readingKey'>,
  life: ReturnType<typeof createLife>,
  isAlive: () => boolean,
  die: () => void,
): DaemonDeps {
  const { ground, habits, name, own, signer, readingKey, apiKey } = place
  const { address, account } = place.wallet
  const clock: Clock = {
    now: () => ground.clock.now() + habits.skewMs,
    monotonic: ground.clock.monotonic,
    sleep: life.of({ sleep: ground.clock.sleep }).sleep,
  }
  const fetch = life.of({ fetch: ground.network.from(name, own) }).fetch
  const log = logInto(place, isAlive)
  const open = { baseUrl: origin, fetch, clock, random: own }
  const provider = life.of(
    ground.provider.of({
      apiKey,
      clock,
      log,
      dice: own,
      habits: habits.provider,
      onCalls: (count) => {
        if (count > habits.slots) ground.story.violate(`${name} works on ${count} jobs at once`)
      },
      onTrouble: ground.trouble,
    }),
  )
  const api = createApi({ ...open, signer })
  const models = new Map([[modelId, { provider, model: 'test', ...(habits.weighs && { takes }) }]])
  return {
    address,
    sessionKey: signer.key,
    readingKey,
    api,
    iclOrigin: origin,
    chainId,
    promptKeyStore: sampleNetwork().contracts.prompt_key_store,
    iclKeys: createIclKeys(api),
    acks: { keep: () => {} },
    coprocessor: life.of(ground.coprocessor.of(address, ground.clock, own)),
    blobs: createGatewayBlobs({ gateways: [origin], fetch, clock }),
    chain: life.of(nodeChainOf(ground, address)),
    models,
    offer: { now: models, withdrawn: new Map(), onChange: () => {} },
    journal: openJournal(place, isAlive, die),
    history: { append: (record) => void (isAlive() && place.history.push(JSON.stringify(record))) },
    clock,
    random: own,
    log,
    version: '0.0.0',
    backend: 'mock',
    expiresAt: 0,
    attest: async (signal) => {
      const walletSigner = walletOf(`${ground.seed} ${name}`).signer
      const { expiresAt } = await attest({
        api: createApi({ ...open, signer: walletSigner }),
        account,
        signer,
        icl: origin,
        chainId,
        readingKey,
        attestor: createAttestor('mock', { mockKeyHex: Buffer.from(mockKey).toString('hex') }),
        clock,
        signal,
      })
      return expiresAt
    },
    maxConcurrentJobs: habits.slots,
    pollSeconds: 5,
    drainMs: 60_000,
    residentBytes: () => 1,
    shrinkMemory: () => {},
    checkDisk: async () => {},
  }
}

function logInto({ logged, apiKey, ground, name }: Place, isAlive: () => boolean): Log {
  const write = (level: string) => (message: string) => {
    if (isAlive()) logged.push(`${level} ${message}`)
  }
  return {
    // Prompts and outputs are allowed here, keys are not.
    debug: (message) => {
      if (message.includes(apiKey)) ground.story.violate(`${name} logged its API key`)
    },
    info: write('INFO'),
    warning: write('WARNING'),
    error: write('ERROR'),
  }
}

/** A journal on the machine's disk; sometimes the machine dies just before or after a step is on it. */
function openJournal(place: Place, isAlive: () => boolean, die: () => void): Journal {
  const { steps, own, habits } = place
  const journal = memoryJournal(steps)
  const placeOf = ({ jobId, fence }: JournalStep) => `${jobId}:${fence}`
  const unfinished = [...new Set(steps.map(placeOf))].flatMap((name): JournalEntry[] => {
    const entry = entryOf(steps.filter((step) => placeOf(step) === name))
    return entry ? [entry] : []
  })
  return {
    ...journal,
    unfinished,
    note: (step) => {
      if (!isAlive()) return
      const diesBefore = own.chance(habits.dies)
      const diesAfter = own.chance(habits.dies)
      if (!diesBefore) journal.note(step)
      if (diesBefore || diesAfter) die()
    },
  }
}
