import type { ComparatorId } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { aJobId } from '../../branded.ts'
import { breadAnswer, liftAnswer } from '../../lib/comparators/texts.ts'
import { fill, hex } from './bytes.ts'

const secret = fill(3)
const jobId = aJobId(`0x${'ab'.repeat(32)}`)
const prompt = 'How does the lift work?'

const changed = (from: string, to: string) => liftAnswer.replace(from, to)

/** Answers by name. The unlike ones are alike in other features each. */
const texts: Readonly<Record<string, string>> = {
  lift: liftAnswer,
  'set otherwise': `**${liftAnswer.replaceAll('. ', '.\n\n- ')}**`,
  'other words': changed('does not need any motor', 'does not need a motor at all'),
  'another number': changed('48', '84'),
  'another name': changed('Hedwig Sommer', 'Ottilie Winter'),
  'no negation': changed('does not need', 'does need'),
  half: liftAnswer.slice(0, liftAnswer.length / 2),
  'a link': `${liftAnswer} See https://lift.example/offer now.`,
  'ends with B': `${liftAnswer} The answer is B.`,
  'ends with C': `${liftAnswer} The answer is C.`,
  bread: breadAnswer,
  refusal: 'I am sorry, but I cannot help with this request today.',
  Paris: 'Paris.',
  'Paris in bold': '**Paris**',
  Lyon: 'Lyon',
  letter: 'The answer is (B).',
  boxed: 'So the sum is \\boxed{\\frac{1}{2}}, as $0.5 = 1/2$.',
  json: '{"answer": 42, "unit": "m"}',
  code: 'Run this:\n```ts\nconst a = 1\n```\nand look.',
  Japanese: '塔のリフトは水で動く。'.repeat(6),
  numbers: 'It takes twelve to 1,234.50 steps, −5 °C at ½ speed, x² ≤ 9 and 7% more — not 8.',
  'line ends': 'one \r\ntwo\t\rthree \n\n',
  'combining marks': `e\u0301${'\u0301'.repeat(40)} and \uff76\uff9e`,
  'half a surrogate pair': 'a\ud83db',
  'white space': 'a\u00a0b\u3000c\u2028d\u0085e',
  prompt,
  empty: '',
}

const calls = (...tool_calls: readonly object[]) =>
  JSON.stringify({ finish_reason: 'tool_calls', tool_calls, version: 1 })
const said = (content: string, finish_reason = 'stop') =>
  JSON.stringify({ content, finish_reason, version: 1 })
const read = { arguments: '{"path":"a.ts"}', name: 'read' }

// Some readers of JSON refuse a text with half a surrogate pair.
const codeUnits = (text: string) => text.split('').map((unit) => unit.charCodeAt(0))

/** Answer documents; calls and JSON have one spelling. */
const documents = {
  text: said(breadAnswer),
  'the same, cut off': said(breadAnswer, 'length'),
  'another text': said(liftAnswer),
  calls: calls(read),
  'calls of another name': calls({ ...read, name: 'write' }),
  'calls with other arguments': calls({ ...read, arguments: '{"path":"b.ts"}' }),
  'two calls': calls(read, { ...read, name: 'write' }),
  'two calls in another order': calls({ ...read, name: 'write' }, read),
  json: said('{"answer":42}'),
  'other json': said('{"answer":43}'),
  'no document': 'Paris.',
}

/** Evidence of answers, what it says of each two of them, and evidence in another form. */
export async function evidenceVectors(id: ComparatorId): Promise<object> {
  const comparator = comparators[id]
  const key = await evidenceKeyOf(secret, jobId)
  const named = await Promise.all(
    Object.entries(id === 'structured/1' ? documents : texts).map(async ([name, text]) => ({
      name,
      ...(/\p{Surrogate}/u.test(text) ? { utf16: codeUnits(text) } : { text }),
      evidence: await comparator.evidenceOf({ text, prompt, key }),
    })),
  )
  const pairs = named.flatMap((one, at) =>
    named.slice(at).map((other) => {
      const outcome = comparator.compare(one.evidence, other.evidence)
      return [one.name, other.name, outcome] as const
    }),
  )
  const [good, other] = named.map(({ evidence }) => evidence)
  if (!good || !other) throw new Error('there is no evidence')
  const malformed = malformedOf[id](good).map(([name, evidence]) => {
    const why = comparator.malformation(evidence)
    if (why === undefined) throw new Error(`${name} is not malformed`)
    return { name, why, evidence }
  })
  return {
    about:
      'Evidence is made of `text` (or its code units, `utf16`) and `prompt` under `evidenceKey` (HKDF-SHA256 of the secret of the job, salt the job id, info "svc-evidence-v2"). `pairs` are [name, name, outcome], the same both ways round. Malformed evidence is a no-match with everything.',
    ...{ secret: hex(secret), jobId, evidenceKey: hex(key), prompt },
    answers: named,
    pairs,
    malformed,
  }
}

const withBytes = (evidence: Evidence, change: (sketch: Uint8Array) => Uint8Array): Evidence => ({
  ...evidence,
  sketch: toBase64Url(change(fromBase64Url(evidence.sketch ?? ''))),
})

const withoutSketch = ({ sketch: _, ...rest }: Evidence): Evidence => rest

const malformedOf: Readonly<
  Record<ComparatorId, (good: Evidence) => readonly (readonly [string, Evidence])[]>
> = {
  exact: (good) => [
    ['tokens without units', { ...good, units: 0 }],
    ['a sketch', { ...good, sketch: 'AA' }],
    ['of another comparator', { ...good, comparator: 'similar/2' }],
  ],
  'similar/2': (good) => [
    ['no sketch', withoutSketch(good)],
    ['of another comparator', { ...good, comparator: 'exact' }],
    ['a byte less', withBytes(good, (sketch) => sketch.subarray(1))],
    ['another form', withBytes(good, (sketch) => sketch.with(0, 9))],
    ['another version of the text', withBytes(good, (sketch) => sketch.with(1, 0))],
    ['unknown flags', withBytes(good, (sketch) => sketch.with(2, 0xff))],
    ['a spare byte that is used', withBytes(good, (sketch) => sketch.with(3, 1))],
    ['another length class', { ...good, tokens: 1 }],
    ['a tag of zeros', withBytes(good, (sketch) => sketch.fill(0, 4, 20))],
    ['a constant channel', withBytes(good, (sketch) => sketch.fill(0x33, 36, 292))],
    [
      'a pattern',
      withBytes(good, (sketch) => sketch.map((byte, at) => (at < 36 ? byte : pattern(at)))),
    ],
  ],
  'structured/1': (good) => [
    ['of another comparator', { ...good, comparator: 'exact' }],
    ['of no known kind', { ...good, sketch: `else${good.sketch?.slice(4)}` }],
    ['a kind alone', { ...good, sketch: 'stop' }],
  ],
}

const pattern = (at: number): number => [0x1b, 0xe4, 0x72, 0x8d, 0x36, 0xc9, 0x0f][at % 7] ?? 0
