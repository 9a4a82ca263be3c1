import type { Address } from '../../lib/codecs.ts'
import { type Conduct, commitAs, type Work } from '../simulation/node.ts'
import type { AnswerBook } from './answer-book.ts'
import type { ClientJob } from './attack-client.ts'
import { copier, denier, neverDelivers, newDiary } from './conducts.ts'
import type { Attack, Cast } from './play-attack.ts'
import { offTopic, onTopic } from './texts.ts'

/** Commits to a text of its own, which is no answer of the model. */
const lying =
  (book: AnswerBook, textOf: (work: Work) => string) =>
  (work: Work): Promise<boolean> => {
    book.lies.add(`${work.claimed.jobId}:${work.node.address}`)
    return commitAs(work, textOf(work))
  }

/** Its members give one and the same false answer in every job. It speaks of the question, so that it contradicts no honest answer. */
const ringConduct = (book: AnswerBook): Conduct => ({
  commit: async (work) => {
    await work.think()
    return lying(book, () => onTopic('what the ring agreed on'))(work)
  },
})

/** Commits to filler at once, and asks no model. */
const lazyConduct = (book: AnswerBook): Conduct => ({
  commit: lying(book, ({ node }) => offTopic(`filler of ${node.name}`)),
})

const tries = 4_000

/** A client whose victim is among the first three nodes of its list. */
const against = (victim: Address, job: ClientJob): ClientJob => ({
  ...job,
  wanted: (list) => list.slice(0, 3).includes(victim),
  tries,
})

const tosses =
  (wallets: readonly string[], changes: Partial<ClientJob> = {}) =>
  (number: number, { victim }: Cast): ClientJob =>
    against(victim, {
      client: wallets[number % wallets.length] ?? 'owner 0',
      asked: 'long toss',
      ...changes,
    })

const walletsOf = (count: number, name = 'owner') =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`)

/** A job with the whole ring in front, so that it agrees with itself; against a victim that sits among them if the ring is of two. */
export const feeding =
  (withVictim: boolean) =>
  (_: number, { victim, ring }: Cast): ClientJob => ({
    client: 'owner 0',
    asked: 'question',
    wanted: (list) => {
      const front = list.slice(0, withVictim ? ring.length + 1 : ring.length)
      return ring.every((node) => front.includes(node)) && (!withVictim || front.includes(victim))
    },
    tries,
  })

const clientAttack = (name: string, count: number, changes: Partial<Attack> = {}): Attack => ({
  name,
  nodes: 0,
  isAlone: true,
  job: tosses(walletsOf(count)),
  jobsPerDay: Math.max(count, 20),
  ...changes,
})

/** A client that has waited: each of its wallets is older than a week, and has an allowance of its own. */
const ofAWeek = (count: number): Attack =>
  clientAttack(`${count} wallets of a week`, count, {
    job: tosses(walletsOf(count, 'aged')),
    agedWallets: walletsOf(count, 'aged'),
  })

/** The attacks that are played, in the order of the table. */
export const attacks: readonly Attack[] = [
  { name: 'ring of two', nodes: 2, conduct: ringConduct, job: feeding(true), jobsPerDay: 10 },
  { name: 'ring of three', nodes: 3, conduct: ringConduct, job: feeding(true), jobsPerDay: 10 },
  {
    name: 'self-feeding ring',
    nodes: 3,
    conduct: ringConduct,
    job: feeding(false),
    jobsPerDay: 10,
  },
  { name: 'lazy verifier', nodes: 1, conduct: lazyConduct },
  { name: 'copier', nodes: 1, conduct: () => copier(newDiary()) },
  { name: 'weaker model', nodes: 1, isWeaker: true },
  { name: 'wrecker', nodes: 1, conduct: () => ({ ...denier, ...neverDelivers }) },
  clientAttack('coin tosses, exact', 1, {
    job: tosses(walletsOf(1), { asked: 'short toss', comparator: 'exact' }),
  }),
  clientAttack('coin tosses, 1 wallet', 1),
  clientAttack('coin tosses, 10 wallets', 10),
  clientAttack('coin tosses, 100 wallets', 100),
  ...[10, 20, 100].map(ofAWeek),
]
