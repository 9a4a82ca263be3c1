import { z } from 'zod'
import { checkAck, verifyAck } from '../../lib/ack.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { agreedIn, describeAgreed } from '../../lib/client/agreed.ts'
import type { Address } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import {
  type Check,
  checking,
  checkLines,
  exitCodeOfChecks,
  failed,
  failedBy,
  ok,
  skipped,
} from '../../lib/host/checks.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { readLimitedFile } from '../../lib/host/private-files.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { attestedIn, describeAttested } from '../../lib/teacher.ts'
import { timeText } from './amounts.ts'
import type { CommandContext } from './context.ts'
import type { Given } from './options.ts'
import { readAcks } from './read-acks.ts'

const maxFileBytes = 1_048_576
const maxShownMistakes = 3

/** Without the chain the best verdict is `consistent`: anyone can make a receipt that is consistent with itself. */
type Verdict = 'valid' | 'consistent' | 'invalid' | 'unknown'

/** Checks a receipt file and prints every check (spec 4). Exit code 0 if valid or consistent, 1 if invalid, 75 if the chain is away. */
export async function checkReceipt(
  given: Given<'receipt'> & { readonly file: string },
  context: CommandContext,
): Promise<number> {
  const text = await readReceiptFile(given.file)
  const { check, receipt } = checkForm(text)
  const checks: Check[] = [check]
  const skipRest = (detail: string, names: readonly string[]) => {
    for (const name of names) checks.push(skipped(name, detail))
  }
  if (receipt === undefined) {
    skipRest('there is no receipt to check', ['content', 'acks', ...onChain])
  } else {
    const content = await checkContent(receipt, given.iclKey)
    checks.push(content)
    if (content.status !== 'ok') skipRest('the receipt does not hold by itself', ['acks'])
    else checks.push(await checkAcks(receipt, given))
    // The checks on chain would ask the ICL that a forged receipt names.
    if (content.status !== 'ok') skipRest('the receipt does not hold by itself', onChain)
    else if (given.rpc.length === 0) skipRest('no --rpc was given', onChain)
    else checks.push(...(await checkOnChain(receipt, given, context)))
  }
  return await report(receipt, checks, given, context)
}

/** The checks that need the chain: the receipt's hash, its list, and the draw of the list. */
const onChain = ['chain', 'list', 'draw'] as const

async function readReceiptFile(path: string): Promise<string> {
  const hint = 'Name the file that holds the receipt.'
  const bytes = await readLimitedFile(path, maxFileBytes, hint)
  if (bytes !== undefined) return bytes.toString('utf8')
  throw new SvcError('receipt-invalid', `${path} is larger than any receipt`, { hint })
}

/** Removes the white space between the parts of JSON. */
const minified = (text: string): string => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

const canonicalText = (value: unknown): string => new TextDecoder().decode(canonicalJson(value))

/**
 * Checks that the file is a receipt and nothing else, because a reader would trust what its hash does not cover. White space and the order
 * of fields are free. The text is compared, too: parsing drops the first of two equal fields, and unifies spellings of a value.
 */
function checkForm(text: string): { readonly check: Check; readonly receipt?: Receipt } {
  const wrong = (detail: string) => ({
    check: failed('form', detail, 'Fetch the receipt again. Do not rely on this file.'),
  })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return wrong(`it is no JSON: ${errorMessage(error)}`)
  }
  if (minified(text) !== JSON.stringify(json)) {
    return wrong('it has a field twice, or a number or text in another spelling')
  }
  const parsed = Receipt.safeParse(json)
  if (!parsed.success) return wrong(firstMistakes(parsed.error))
  if (canonicalText(json) !== canonicalText(z.encode(Receipt, parsed.data))) {
    return wrong('it has fields that no receipt has, or values in another spelling')
  }
  const detail = 'it has the form of a receipt, and nothing besides'
  return { check: ok('form', detail), receipt: parsed.data }
}

function firstMistakes({ issues }: z.ZodError): string {
  const shown = issues.slice(0, maxShownMistakes)
  const lines = shown.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`)
  return `${lines.join('; ')}${issues.length > shown.length ? '; and more' : ''}`
}

const checkContent = (receipt: Receipt, iclKey: string | undefined): Promise<Check> =>
  checking('content', async () => {
    await verifyReceipt(receipt, iclKey === undefined ? {} : { iclKeys: [iclKey] })
    const { agreed, answers } = agreedIn(receipt)
    const whose = iclKey === undefined ? `by the key ${receipt.tally.key}` : 'by the given ICL key'
    return ok(
      'content',
      `job, list, ${answers} answers and their signatures, agreement and delivery fit (${agreed} of ${answers} agreed, ${receipt.tally.body.deliverer} delivered); the tally is signed ${whose}`,
    )
  })

/** Checks that the receipt has everything that the ICL acknowledged for its job. Ignores acknowledgements for other jobs. */
async function checkAcks(
  receipt: Receipt,
  { with: path, iclKey }: Pick<Given<'receipt'>, 'with' | 'iclKey'>,
): Promise<Check> {
  const name = 'acks'
  if (path === undefined) return skipped(name, 'no --with was given')
  const all = await readAcks(path)
  const acks = all.filter(({ body }) => body.jobId === receipt.jobId)
  const keys = [receipt.tally.key, ...(iclKey === undefined ? [] : [iclKey])]
  for (const ack of acks) await verifyAck(ack, keys)
  return await checking(name, async () => {
    for (const ack of acks) await checkAck(receipt, ack)
    const count = `${acks.length} of ${all.length} in the file`
    return ok(name, `it has what the ICL acknowledged of this job (${count})`)
  })
}

/** Checks hash and list through each RPC, whose host begins the detail, and then the draw. */
async function checkOnChain(
  receipt: Receipt,
  given: Given<'receipt'>,
  context: CommandContext,
): Promise<readonly Check[]> {
  const { compareListWithChain, compareWithChain, contractsFor, drawAgain } = await import(
    './receipt-on-chain.ts'
  )
  const { rpc, gateway } = given
  let contracts: { readonly resultRegistry: Address; readonly promptKeyStore: Address }
  try {
    contracts = await contractsFor(receipt, given, context)
  } catch (error) {
    const unknown = skipped('draw', 'the contracts are not known')
    return [failedBy('chain', error), failedBy('list', error), unknown]
  }
  const throughEach = (
    name: string,
    compare: typeof compareWithChain | typeof compareListWithChain,
  ) =>
    Promise.all(
      rpc.map(async (rpcUrl) => {
        const check = await checking(name, async () =>
          ok(name, await compare(receipt, { rpcUrl, ...contracts }, context)),
        )
        return { ...check, detail: `${new URL(rpcUrl).host}: ${check.detail}` }
      }),
    )
  const chain = await throughEach('chain', compareWithChain)
  const list = await throughEach('list', compareListWithChain)
  const drawn = async (): Promise<Check> => {
    if (gateway === undefined) return skipped('draw', 'no --gateway was given')
    // Only the chain tells the block's hash, from which the list is drawn.
    if (list.some(({ status }) => status !== 'ok')) {
      return skipped('draw', 'the list does not fit the chain')
    }
    return await checking('draw', async () =>
      ok('draw', await drawAgain(receipt, { gateway, ...contracts }, context)),
    )
  }
  return [...chain, ...list, await drawn()]
}

/** The hosts that are believed about the chain. A path or a user name may hold an access key. */
const rpcHosts = ({ rpc }: Given<'receipt'>): readonly string[] => [
  ...new Set(rpc.map((url) => new URL(url).host)),
]

const tellTheTruth = (hosts: readonly string[]): string =>
  hosts.length === 1
    ? `${hosts[0]} tells the truth`
    : `${hosts.slice(0, -1).join(', ')} and ${hosts.at(-1)} tell the truth`

const verdictOf = (exitCode: number, { rpc }: Given<'receipt'>): Verdict => {
  if (exitCode === exitCodes.done) return rpc.length === 0 ? 'consistent' : 'valid'
  return exitCode === exitCodes.tryAgain ? 'unknown' : 'invalid'
}

const sentences: Readonly<Record<Exclude<Verdict, 'valid'>, string>> = {
  consistent: 'The receipt is consistent. Anyone can make one that is: compare it with the chain.',
  invalid: 'The receipt is invalid.',
  unknown: 'The chain could not be asked: whether the receipt is valid is not known.',
}

const sentenceOf = (verdict: Verdict, given: Given<'receipt'>): string =>
  verdict === 'valid'
    ? `The receipt is valid if ${tellTheTruth(rpcHosts(given))}: it is consistent, and the chain holds its hash and its list.`
    : sentences[verdict]

/** Names what the checks do not cover, each with the option that adds it if there is one. */
const notChecked = (given: Given<'receipt'>): readonly string[] => {
  const { rpc, resultRegistry, promptKeyStore, gateway, iclKey, with: acks } = given
  const isNamed = resultRegistry !== undefined && promptKeyStore !== undefined
  return [
    rpc.length === 0
      ? 'that the chain holds its hash and its list (--rpc)'
      : `that ${tellTheTruth(rpcHosts(given))} about the chain`,
    ...(rpc.length > 0 && !isNamed
      ? [
          'that the contracts are not those of a made-up ICL (--result-registry, --prompt-key-store)',
        ]
      : []),
    ...(rpc.length === 0 || gateway === undefined
      ? ['that its list was drawn from the pool of its terms (--rpc and --gateway)']
      : []),
    ...(iclKey === undefined ? ['that the tally is signed by the ICL (--icl-key)'] : []),
    ...(acks === undefined
      ? ['that no node was called late which had answered in time (--with, of that node)']
      : []),
    'that its nodes have a stake, and that its pool left none out',
  ]
}

async function report(
  receipt: Receipt | undefined,
  checks: readonly Check[],
  given: Given<'receipt'>,
  { print }: CommandContext,
): Promise<number> {
  const exitCode = exitCodeOfChecks(checks)
  const hash = receipt && (await receiptHash(receipt))
  const verdict = verdictOf(exitCode, given)
  const not_checked = notChecked(given)
  if (given.json) {
    const ids = { receipt_hash: hash, jobId: receipt?.jobId }
    print(JSON.stringify({ verdict, not_checked, rpc_hosts: rpcHosts(given), ...ids, checks }))
    return exitCode
  }
  for (const line of checks.flatMap(checkLines)) print(line)
  if (receipt !== undefined && exitCode === exitCodes.done) {
    const { jobId, list, tally } = receipt
    print(
      `Job ${jobId}: ${list.terms.model_id}, settled ${timeText(tally.body.settled_at)}: ${describeAgreed(agreedIn(receipt))}`,
    )
    print(`Receipt hash ${hash}`)
    if (receipt.attested) {
      print(
        `Attested, and not to be computed again without the provider: ${describeAttested(attestedIn(receipt))}`,
      )
    }
    print(`Not checked: ${not_checked.join('; ')}`)
  }
  print(sentenceOf(verdict, given))
  return exitCode
}
