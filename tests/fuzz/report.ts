import type { Finding, FuzzResult } from './run.ts'

type Asked = {
  readonly seed: number
  readonly requests: number
  readonly store: string
  readonly overHttp: boolean
}

const leastSound = 0.8
const leastGood = 0.3

/** Everything about a run that must not be, in words; nothing for a good one. */
export function failuresOf({
  counts,
  findings,
  leaks,
  searchFinds,
}: FuzzResult): readonly string[] {
  const { soundShare, goodShare } = counts.totals()
  return [
    ...findings.map(({ what, call }) => `${call.method} ${call.target}: ${what.join('; ')}`),
    ...leaks.map((leak) => `a secret shows: ${leak}`),
    ...(searchFinds ? [] : ['the search for secrets does not find one that is there']),
    ...counts
      .unreached()
      .map((id) => `${id} was never answered 2xx: add a request for it to tests/fuzz/requests.ts`),
    ...(soundShare < leastSound
      ? [`only ${soundShare.toFixed(3)} of the requests are signed`]
      : []),
    ...(goodShare < leastGood ? [`only ${goodShare.toFixed(3)} are answered 2xx`] : []),
  ]
}

/** The table of a run, its findings with the command that makes them again, and its totals. */
export function reportOf(result: FuzzResult, asked: Asked) {
  const failures = failuresOf(result)
  const { counts, findings } = result
  const { requests, soundShare, goodShare } = counts.totals()
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`
  const lines = [
    counts.print(),
    ...findings.map((finding) => describe(finding, asked)),
    ...failures.map((failure) => `FAILED: ${failure}\n`),
    `${requests} requests (seed ${asked.seed}, ${asked.store}): ${percent(soundShare)} validly signed, ${percent(goodShare)} answered 2xx, ${counts.countOf(500)} with status 500, ${result.wrong} undocumented or otherwise wrong, ${result.leaks.length} leaks of secrets\n`,
  ]
  return { text: lines.join(''), failures }
}

const mostShown = 2_000

/** A finding with everything that it takes to see it again. */
function describe(
  { step, what, call, status, answer }: Finding,
  { seed, store, overHttp }: Asked,
): string {
  const headers = [...call.headers].map(([name, value]) => `  ${name}: ${value.slice(0, 300)}`)
  const body = call.body ? new TextDecoder().decode(call.body).slice(0, mostShown) : '(none)'
  return [
    `\n#${step} ${call.method} ${call.target.slice(0, 500)} -> ${status ?? 'no answer'}`,
    ...what.map((each) => `  ! ${each}`),
    `  proof ${call.proof}, changed: ${call.changes.join(', ') || 'nothing'}`,
    ...headers,
    `  body: ${body}`,
    `  answer: ${answer}`,
    `  again: npm run fuzz -- --seed ${seed} --store ${store} --requests ${step}${overHttp ? ' --over-http' : ''}`,
    '',
  ].join('\n')
}
