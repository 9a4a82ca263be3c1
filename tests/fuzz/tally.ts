import { table } from '../bench/table.ts'
import type { ApiDocument, Operation } from './api-document.ts'
import type { Call } from './call.ts'

type Row = {
  readonly needsProof: boolean
  requests: number
  sound: number
  good: number
  readonly statuses: Map<string, number>
}

/** How often each endpoint was asked, and what it answered. */
export type Counts = ReturnType<typeof createCounts>

const elsewhere = '(no such address)'
/** No request to these is answered 2xx: an ICL that is not for development alone has no key to hand out. */
const unanswered: ReadonlySet<string> = new Set([elsewhere, 'getMockKey'])
const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)
const percent = (part: number, whole: number) => `${(100 * share(part, whole)).toFixed(1)} %`

/** Counts from nothing; every documented endpoint has a row from the start. */
export function createCounts({ operations }: ApiDocument) {
  const rows = new Map<string, Row>()
  const rowOf = (id: string, needsProof: boolean): Row => {
    const row = rows.get(id) ?? { needsProof, requests: 0, sound: 0, good: 0, statuses: new Map() }
    rows.set(id, row)
    return row
  }
  for (const { id, schemes } of operations) rowOf(id, schemes.length > 0)
  const sum = (of: (row: Row) => number) =>
    [...rows.values()].reduce((all, row) => all + of(row), 0)
  const totals = () => ({
    requests: sum((row) => row.requests),
    /** Share of all requests that carry a sound proof of their sender, of those that need none too. */
    soundShare: share(
      sum((row) => row.sound),
      sum((row) => row.requests),
    ),
    goodShare: share(
      sum((row) => row.good),
      sum((row) => row.requests),
    ),
  })
  return {
    add: (operation: Operation | undefined, { proof }: Call, status: number | undefined) => {
      const row = operation
        ? rowOf(operation.id, operation.schemes.length > 0)
        : rowOf(elsewhere, false)
      row.requests++
      if (proof === 'sound') row.sound++
      if (status !== undefined && status < 300) row.good++
      const name = String(status ?? 'none')
      row.statuses.set(name, (row.statuses.get(name) ?? 0) + 1)
    },
    totals,
    /** Endpoints that were never answered 2xx. */
    unreached: () =>
      [...rows].flatMap(([id, { good }]) => (good === 0 && !unanswered.has(id) ? id : [])),
    countOf: (status: number) => sum((row) => row.statuses.get(String(status)) ?? 0),
    print: () =>
      table([
        ['endpoint', 'requests', 'signed', '2xx', 'statuses'],
        ...[...rows].map(([id, { needsProof, requests, sound, good, statuses }]) => [
          id,
          String(requests),
          needsProof ? percent(sound, requests) : '-',
          percent(good, requests),
          [...statuses]
            .toSorted(([a], [b]) => a.localeCompare(b))
            .map(([status, count]) => `${status}:${count}`)
            .join(' '),
        ]),
      ]),
  }
}
