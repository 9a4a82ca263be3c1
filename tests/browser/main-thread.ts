import type { Browser, Page } from 'playwright-core'

/** The longest that one task kept a page's main thread, in milliseconds. */
export type LongestTask = {
  /** Of processor time: what the page itself took, however busy the machine was. */
  readonly processorMs: number
  /** By the clock: with what others took meanwhile. */
  readonly clockMs: number
}

// A busy machine may let a page begin late, and its end be heard of late.
const leastSeen = 0.8
const mostUnseenMs = 5_000

type TraceEvent = {
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly name: string
  /** Microseconds. */
  readonly ts: number
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Does something and tells which task kept the main threads of pages longest meanwhile; throws when the trace does not reach to the end of it. */
export async function longestTaskDuring(
  browser: Browser,
  page: Page,
  work: () => Promise<unknown>,
): Promise<LongestTask> {
  await browser.startTracing(page, { categories: ['toplevel'] })
  const began = performance.now()
  await work()
  const lastedMs = performance.now() - began
  const trace = JSON.parse((await browser.stopTracing()).toString('utf8')) as {
    readonly traceEvents: readonly TraceEvent[]
  }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`
  const mainThreads = new Set(
    trace.traceEvents
      .filter(({ ph, name, args }) => {
        return ph === 'M' && name === 'thread_name' && args?.name === 'CrRendererMain'
      })
      .map(threadOf),
  )
  const tasks = trace.traceEvents.filter(
    (event) =>
      event.name.endsWith('RunTask') &&
      event.tdur !== undefined &&
      mainThreads.has(threadOf(event)),
  )
  if (tasks.length === 0) throw new Error('The trace has no task of a main thread')
  const [first, last] = [
    tasks.reduce((least, { ts }) => Math.min(least, ts), Number.POSITIVE_INFINITY),
    tasks.reduce((most, { ts, dur = 0 }) => Math.max(most, ts + dur), 0),
  ]
  // A browser leaves out what no longer fits into its buffer, without a word.
  const seenMs = (last - first) / 1_000
  if (seenMs < lastedMs * leastSeen - mostUnseenMs) {
    throw new Error(`The trace shows ${Math.round(seenMs)} ms of ${Math.round(lastedMs)} ms`)
  }
  const longest = (times: readonly number[]) =>
    times.reduce((most, time) => Math.max(most, time), 0) / 1_000
  return {
    processorMs: longest(tasks.map(({ tdur = 0 }) => tdur)),
    clockMs: longest(tasks.map(({ dur = 0 }) => dur)),
  }
}
