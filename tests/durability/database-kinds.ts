import { systemClock } from '../../lib/system.ts'
import type { Fate } from '../store/wire-server/proxy.ts'
import type { Database } from './database.ts'
import {
  comesTo,
  controlOf,
  endItself,
  type FaultKind,
  healthOf,
  isWhole,
  last,
  type Stage,
  startIclAgain,
} from './stage.ts'

const stores = ['mongodb'] as const

function databaseOf({ world }: Stage): Database {
  if (world.database === undefined) throw new Error('This world has no database server')
  return world.database
}

// It comes in seconds, but not on a busy machine.
const waitMs = 300_000

/** Waits until something holds that has to come; throws when it does not. */
async function wait(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  if (!(await comesTo(holds, waitMs))) throw new Error(`It takes too long until ${what}`)
}

/** Kills the database under load and waits until the ICL continues without it. */
async function takeDatabase(stage: Stage): Promise<void> {
  const { load, world } = stage
  await databaseOf(stage).kill()
  await wait('it is noticed', async () => !(await healthOf(world.iclUrl)).connected)
  const before = load.acknowledged()
  await wait('the ICL works from its file', () => load.acknowledged() > before)
}

const away: FaultKind = {
  name: 'database-kill',
  stores,
  put: async (stage) => {
    await takeDatabase(stage)
    const how = await last(stage, 5, 60)
    await databaseOf(stage).start()
    return how
  },
}

const iclToo: FaultKind = {
  name: 'database-and-icl-kill',
  stores,
  put: async (stage) => {
    const { icl } = stage.world
    const database = databaseOf(stage)
    const when = stage.dice.pick(['while it is away', 'while it catches up', 'at once'] as const)
    if (when === 'at once') {
      await Promise.all([icl.end(), database.kill()])
      const how = await last(stage, 0, 10)
      await startIclAgain(stage)
      await database.start()
      return `${when}, both away ${how}`
    }
    await takeDatabase(stage)
    if (when === 'while it is away') {
      const note = await killAway(stage)
      await startIclAgain(stage)
      await database.start()
      return `${when}${note}`
    }
    await last(stage, 5, 20)
    await database.start()
    await systemClock.sleep(stage.dice.between(0, 1_500))
    await icl.end()
    await startIclAgain(stage)
    return when
  },
}

/** Kills the ICL at random, or around an fsync of its file. */
async function killAway({ world, dice }: Stage): Promise<string> {
  const ending = dice.pick(['random', 'before-sync', 'after-sync'] as const)
  if (ending === 'random' || world.icl.control === undefined) {
    await systemClock.sleep(dice.between(0, 1_500))
    await world.icl.end()
    return ', at random'
  }
  controlOf(world.icl).endAt(ending, dice.between(1, 12), 1)
  return `, ${ending} of the file${await endItself(world.icl)}`
}

const bad: FaultKind = {
  name: 'database-network',
  stores,
  put: async (stage) => {
    const { dice } = stage
    const { proxy } = databaseOf(stage)
    const what = dice.pick(['cut', 'lose-answer', 'swallow', 'slow'] as const)
    const share = dice.pick([0.1, 0.5, 1])
    proxy.fateOf = async (): Promise<Fate> => {
      if (!dice.chance(share)) return 'forward'
      if (what !== 'slow') return what
      await systemClock.sleep(dice.between(100, 2_000))
      return 'forward'
    }
    const how = await last(stage, 5, 30)
    proxy.fateOf = () => 'forward'
    return `${what} of ${share * 100} % for ${how}`
  },
}

const freeze: FaultKind = {
  name: 'database-freeze',
  stores,
  put: async (stage) => {
    const thaw = databaseOf(stage).freeze()
    const how = await last(stage, 5, 60).finally(thaw)
    return how
  },
}

// No room, no primary, no right, and one that nobody knows.
const refusals = [14_031, 10_107, 13, 99_999] as const

const refuse: FaultKind = {
  name: 'database-refuse',
  stores,
  put: async (stage) => {
    const { dice } = stage
    const { proxy } = databaseOf(stage)
    const code = dice.pick(refusals)
    const share = dice.pick([0.1, 0.5, 1])
    proxy.fateOf = (command): Fate =>
      ['update', 'insert'].includes(command) && dice.chance(share) ? { code } : 'forward'
    const how = await last(stage, 5, 30)
    proxy.fateOf = () => 'forward'
    return `${code} for ${share * 100} % of the writes, ${how}`
  },
}

/** Two share a database: neither may go on alone, since what one does not know the other may have saved. */
const ofTwo: FaultKind = {
  name: 'database-kill-of-two',
  stores,
  put: async (stage) => {
    const { world } = stage
    const database = databaseOf(stage)
    await restartAs(stage, 2)
    const other = await world.startReplica()
    const urls = [world.iclUrl, other.url]
    try {
      await database.kill()
      const how = await refuses(stage, urls).finally(database.start)
      for (const url of urls) await wait('it is back', () => isWhole(url))
      return how
    } finally {
      other.process.kill('SIGTERM')
      await other.process.exited
      await restartAs(stage, 1)
    }
  },
}

/** Another one wants to be alone on the database, too: it gives way, and changes nothing for the first. */
const intruder: FaultKind = {
  name: 'database-kill-with-intruder',
  stores,
  put: async (stage) => {
    const { world } = stage
    await givesWay(world)
    await takeDatabase(stage)
    const how = await last(stage, 5, 30)
    await databaseOf(stage).start()
    return how
  },
}

/** Starts an ICL that wants to be alone. One that the database responds to late starts without it, and learns of the other then. */
async function givesWay(world: Stage['world']): Promise<void> {
  const started = await world.startReplica().catch((error: unknown) => String(error))
  if (typeof started === 'string') {
    if (!started.includes('Another ICL has this database'))
      throw new Error(`The intruder says ${started}`)
    return
  }
  const isTold = ({ reasons }: Awaited<ReturnType<typeof healthOf>>) =>
    reasons.some((reason) => reason.includes('Another ICL has this database'))
  try {
    await wait('the intruder learns of the other', async () => isTold(await healthOf(started.url)))
  } finally {
    started.process.kill('SIGKILL')
  }
}

async function restartAs({ world }: Stage, replicas: number): Promise<void> {
  // One that stops while the database is away does not give it back.
  await wait('it is whole', () => isWhole(world.iclUrl))
  await world.icl.end('SIGTERM')
  world.setReplicas(replicas)
  // What others have saved is not in the file of before.
  await world.forgetFile()
  await world.icl.start()
}

/** Sees that for a while nothing is saved. */
async function refuses(stage: Stage, urls: readonly string[]): Promise<string> {
  for (const url of urls) {
    await wait('it is red', async () => (await healthOf(url)).ready === 503)
  }
  const { told } = stage.load
  const before = told.length
  const how = await last(stage, 3, 20)
  const since = told.length - before
  if (since > 0) throw new Error(`${since} jobs were acknowledged without a database`)
  return how
}

/** Faults of the database server. */
export const databaseKinds: readonly FaultKind[] = [
  away,
  iclToo,
  freeze,
  bad,
  refuse,
  ofTwo,
  intruder,
]
