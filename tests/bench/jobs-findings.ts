import type { Findings, Goal } from './benchmark.ts'
import { type Floor, floorMs, floorOf } from './floor.ts'
import type { JobsFound } from './jobs.ts'
import { type JobNeeds, pinnedNeeds } from './server/floor.ts'
import { quantile, spreadOf } from './spread.ts'

const kib = 1_024

/** What the jobs benchmark says of what it found. */
export function jobsFindings(found: JobsFound): Findings {
  const { sqlite, memory, nodes, workers, warmUp } = found
  const floor = pinnedFloor(found)
  const [phaseRows, phaseFigures] = phasesOf(found)
  return {
    method: `${nodes} simulated nodes and their clients, in another process, send the ICL real requests, with their signatures. Provider and chain respond at once, and prompts are not decrypted. Both processes share the machine. Polls of nodes may end before the response to the submission: a phase below 0 is that. A node that works polls once in 2 s at most, since the answers to its steps bring offers, too. Clients keep a preview for 30 s. The runtime has compiled before: ${warmUp.toLocaleString('en')} jobs of warm-up. Stores and floor are measured in turn, and the middle of the rounds counts. What a job asks is counted in a server of its own. The floor is what no ICL can leave out, done with the fastest calls of this host: requests to a bare Bun.serve, signatures, hashes, each JSON text read or written once, and each settled job appended to a file, with one fdatasync for ${workers} of them. It is pinned to the counts of 27 November 2026, so that a check that is saved counts as a gain; their costs are those of this run.`,
    tables: [
      { title: 'One job at a time, by phase', rows: phaseRows },
      { title: `${workers} clients at once`, rows: loadRows(found) },
      { title: 'What a job asks of the ICL (sqlite)', rows: needRows(found), isDetail: true },
      { title: 'Costs of the floor, and how often', rows: unitRows(found), isDetail: true },
      {
        title: 'The floor: processor time of a job at least',
        rows: floorRows(found),
        isDetail: true,
      },
    ],
    figures: {
      ...phaseFigures,
      ...figuresOf('jobs_sqlite', sqlite.loaded),
      ...figuresOf('jobs_memory', memory.loaded),
      jobs_fsync_ms: found.fsyncMs,
      jobs_floor_ms: floorMs(floor),
      jobs_counted_floor_ms: floorMs(floorOf(found.units, found.needs)),
      jobs_to_floor: sqlite.loaded.cpuMs / floorMs(floor),
      jobs_memory_to_sqlite: memory.loaded.cpuMs / sqlite.loaded.cpuMs,
      jobs_saves: found.needs.saves,
      jobs_refused_saves: found.needs.refusedSaves,
      jobs_requests: found.needs.requests,
    },
    goals: goalsOf(found),
    skipped: Number.isNaN(sqlite.loaded.writtenBytes)
      ? ['bytes written for a job: read from /proc, which needs Linux']
      : [],
  }
}

function phasesOf({ sqlite, memory }: JobsFound): [string[][], Record<string, number>] {
  const figures: Record<string, number> = {}
  const rows = [['milliseconds', 'sqlite 50 %', '99 %', 'memory 50 %', '99 %']]
  const names = Object.keys(sqlite.phases[0] ?? {}) as (keyof (typeof sqlite.phases)[number])[]
  for (const name of names) {
    const row: string[] = [name]
    for (const [store, { phases }] of Object.entries({ sqlite, memory })) {
      const { p50, p99 } = spreadOf(phases.map((each) => each[name]))
      row.push(p50.toFixed(2), p99.toFixed(2))
      figures[`job_${store}_${name.replaceAll(' ', '_')}_p50_ms`] = p50
      figures[`job_${store}_${name.replaceAll(' ', '_')}_p99_ms`] = p99
    }
    rows.push(row)
  }
  return [rows, figures]
}

const pinnedFloor = ({ units }: Pick<JobsFound, 'units'>): Floor => floorOf(units, pinnedNeeds)

type Loaded = JobsFound['sqlite']['loaded']

const figuresOf = (name: string, { perSecond, cpuMs, writtenBytes }: Loaded) => ({
  [`${name}_per_second`]: perSecond,
  [`${name}_cpu_ms`]: cpuMs,
  [`${name}_per_core_second`]: 1000 / cpuMs,
  [`${name}_written_bytes`]: writtenBytes,
})

function loadRows({ sqlite, memory, units }: JobsFound): string[][] {
  const floor = pinnedFloor({ units })
  const row = (name: string, { perSecond, cpuMs }: Loaded) => [
    name,
    `${cpuMs.toFixed(2)} ms`,
    `x${(cpuMs / floorMs(floor)).toFixed(2)}`,
    (1000 / cpuMs).toFixed(0),
    perSecond.toFixed(0),
  ]
  return [
    ['', 'processor time', 'of the floor', 'jobs for a core and second', 'jobs a second here'],
    row('sqlite', sqlite.loaded),
    row('memory', memory.loaded),
  ]
}

const one = (value: number) => value.toFixed(1)
const inKib = (bytes: number) => `${(bytes / kib).toFixed(1)} KiB`

function needRows({ needs, sqlite }: JobsFound): string[][] {
  return [
    ['', ''],
    ['requests', one(needs.requests)],
    ['bodies in, and out', `${inKib(needs.receivedBytes)}, ${inKib(needs.sentBytes)}`],
    ['Ed25519 checks, and signatures', `${one(needs.verified)}, ${one(needs.signed)}`],
    ['wallet recoveries', one(needs.recoveries)],
    ['SHA-256, HMAC, keccak', hashesOf(needs)],
    ['saves, and of the job itself', `${one(needs.saves)}, ${one(needs.jobSaves)}`],
    ['of all, refused', one(needs.refusedSaves)],
    ['the settled job', inKib(needs.settledBytes)],
    ['written to the disk', inKib(sqlite.loaded.writtenBytes)],
  ]
}

const hashesOf = ({ sha256, hmac, keccak }: JobNeeds): string =>
  [sha256, hmac, keccak].map(one).join(', ')

function floorRows({ units, needs }: JobsFound): string[][] {
  const names: Readonly<Record<keyof Floor, string>> = {
    requests: 'requests, bare',
    signatures: 'Ed25519',
    recoveries: 'wallet recoveries',
    hashes: 'hashes',
    json: 'JSON',
    append: 'append to a file, fdatasync for the group',
  }
  const floors = [floorOf(units, pinnedNeeds), floorOf(units, needs)]
  const micros = (value: number) => `${value.toFixed(0)} us`
  const row = (name: string, read: (floor: Floor) => number) => [
    name,
    ...floors.map((floor) => micros(read(floor))),
  ]
  return [
    ['', 'pinned', 'as counted now'],
    ...Object.entries(names).map(([part, name]) =>
      row(name, (floor) => floor[part as keyof Floor]),
    ),
    row('in sum', (floor) => 1000 * floorMs(floor)),
  ]
}

function unitRows({ units, needs }: JobsFound): string[][] {
  const names = {
    requests: 'request, bare',
    verified: 'Ed25519 check',
    signed: 'Ed25519 signature',
    recoveries: 'wallet recovery',
    sha256: 'SHA-256',
    hmac: 'HMAC',
    keccak: 'keccak',
  } as const
  return [
    ['', 'each', 'pinned', 'counted now'],
    ...Object.entries(names).map(([key, name]) => {
      const unit = key as keyof typeof names
      return [name, `${one(units[unit])} us`, String(pinnedNeeds[unit]), one(needs[unit])]
    }),
  ]
}

function goalsOf({ sqlite, memory, needs, units, fsyncMs }: JobsFound): Goal[] {
  const floor = pinnedFloor({ units })
  const { cpuMs, writtenBytes } = sqlite.loaded
  const coordination = ({ phases }: typeof sqlite) =>
    quantile(
      phases.map((each) => each['from submission to settled']),
      0.5,
    )
  const alone = coordination(sqlite)
  const goal = (what: string, found: number, unit: string, limit: number, why: string): Goal => ({
    what,
    found,
    unit,
    limit,
    better: 'lower',
    heldBackBy: why,
  })
  return [
    goal(
      'processor time of the ICL for a job over sqlite, of the pinned floor',
      cpuMs / floorMs(floor),
      'x',
      3,
      `the disk does not: in memory a job takes ${memory.loaded.cpuMs.toFixed(1)} ms. ${one(needs.requests)} requests are parsed and checked by schemas, and a document that ends at ${inKib(needs.settledBytes)} is copied and encoded ${one(needs.jobSaves)} times`,
    ),
    goal(
      'processor time of the ICL for a job in memory, of that over sqlite',
      memory.loaded.cpuMs / cpuMs,
      'x',
      1,
      'the garbage collector walks through all jobs in memory',
    ),
    goal(
      'saves for a job',
      needs.saves,
      'saves',
      16,
      `each step of each node changes the job: ${one(needs.jobSaves)} saves are of the job itself`,
    ),
    goal(
      'refused saves for a job',
      needs.refusedSaves,
      'saves',
      0,
      'changes of one job that load the same version',
    ),
    ...(Number.isNaN(writtenBytes)
      ? []
      : [
          goal(
            'written to the disk for a job',
            writtenBytes / kib,
            'KiB',
            80,
            `${one(needs.saves)} saves write documents and their indexes`,
          ),
        ]),
    goal(
      `one job, from submission to settled, median (${alone.toFixed(1)} ms), in fsyncs (${fsyncMs.toFixed(2)} ms)`,
      alone / fsyncMs,
      'fsyncs',
      12,
      `in memory, without a commit, it takes ${coordination(memory).toFixed(1)} ms: nodes and client sign and check on the two cores that the ICL runs on`,
    ),
  ]
}
