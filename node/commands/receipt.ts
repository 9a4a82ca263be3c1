import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { Address } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import { explainError } from '../../lib/host/explain-error.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { timeText } from './amounts.ts'
import { type Check, checkLine, exitCodeOfChecks } from './checks.ts'
import type { CommandContext } from './context.ts'
import { usageError } from './flags.ts'

/** The flags of `svc-node receipt verify`. */
export type ReceiptFlags = {
  readonly rpc?: string
  readonly resultRegistry?: string
  readonly iclKey?: string
  readonly json?: boolean
}

const maxFileBytes = 1_048_576
const maxShownMistakes = 3

/** `consistent` is the most that can be said without the chain: anyone can make a receipt that fits itself. */
type Verdict = 'valid' | 'consistent' | 'invalid' | 'unknown'

/** Checks a receipt file and prints every check (spec 4); 0 when it is valid or consistent, 1 when it is invalid, 75 when the chain cannot be asked. */
export async function checkReceipt(
  action: string,
  path: string,
  flags: ReceiptFlags,
  context: CommandContext,
): Promise<number> {
  if (action !== 'verify') {
    throw usageError(`no action ${action} of receipt`, 'Write `svc-node receipt verify FILE`.')
  }
  const { rpc, resultRegistry } = flags
  if (rpc !== undefined && !(/^https?:/.test(rpc) && URL.canParse(rpc))) {
    throw usageError('--rpc has to be an address such as https://rpc.example', 'Correct it.')
  }
  const registry = resultRegistry === undefined ? undefined : Address.safeParse(resultRegistry)
  if (registry?.success === false) {
    throw usageError('--result-registry has to be a contract address', 'Write it as 0x...')
  }
  if (flags.iclKey !== undefined && !/^[A-Za-z0-9_-]{43}$/.test(flags.iclKey)) {
    throw usageError('--icl-key has to be a public key, 43 characters of base64url', 'Correct it.')
  }
  const text = await readReceiptFile(path)
  const checks: Check[] = []
  const form = checkForm(text)
  checks.push(form.check)
  const { receipt } = form
  if (receipt !== undefined) {
    const content = await checkContent(receipt, flags.iclKey)
    checks.push(content)
    // A forged receipt is not asked whom to ask.
    checks.push(
      content.status === 'ok'
        ? await checkOnChain(receipt, flags, registry?.data, context)
        : { name: 'chain', status: 'skipped', detail: 'the receipt does not hold by itself' },
    )
  } else {
    checks.push({ name: 'content', status: 'skipped', detail: 'there is no receipt to check' })
    checks.push({ name: 'chain', status: 'skipped', detail: 'there is no receipt to check' })
  }
  return await report(receipt, checks, flags, context)
}

async function readReceiptFile(path: string): Promise<string> {
  try {
    if ((await stat(path)).size <= maxFileBytes) return await readFile(path, 'utf8')
  } catch (error) {
    throw new SvcError('file-unreadable', errorMessage(error), {
      hint: 'Name the file that holds the receipt.',
      cause: error,
    })
  }
  throw new SvcError('receipt-invalid', `${path} is larger than any receipt`, {
    hint: 'Name the file that holds the receipt.',
  })
}

/** JSON without the white space between its parts. */
const minified = (text: string): string => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

const canonicalText = (value: unknown): string => new TextDecoder().decode(canonicalJson(value))

/**
 * A receipt, and nothing besides: what the hash does not cover would be taken for checked. White space and the order of fields are free.
 * Parsing drops a field's first value when it comes twice, and makes one value of two spellings, so the text is compared, too.
 */
function checkForm(text: string): { readonly check: Check; readonly receipt?: Receipt } {
  const failed = (detail: string) => ({
    check: {
      name: 'form',
      status: 'failed',
      detail,
      remedy: 'Fetch the receipt again; do not rely on this file.',
    } as const,
  })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return failed(`it is no JSON: ${errorMessage(error)}`)
  }
  if (minified(text) !== JSON.stringify(json)) {
    return failed('it has a field twice, or a number or text in another spelling')
  }
  const parsed = Receipt.safeParse(json)
  if (!parsed.success) return failed(firstMistakes(parsed.error))
  if (canonicalText(json) !== canonicalText(z.encode(Receipt, parsed.data))) {
    return failed('it has fields that no receipt has, or values in another spelling')
  }
  const detail = 'it has the form of a receipt, and nothing besides'
  return { check: { name: 'form', status: 'ok', detail }, receipt: parsed.data }
}

function firstMistakes({ issues }: z.ZodError): string {
  const shown = issues.slice(0, maxShownMistakes)
  const lines = shown.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`)
  return `${lines.join('; ')}${issues.length > shown.length ? '; and more' : ''}`
}

async function checkContent(receipt: Receipt, iclKey: string | undefined): Promise<Check> {
  try {
    await verifyReceipt(receipt, iclKey === undefined ? {} : { iclKeys: [iclKey] })
  } catch (error) {
    const { message, hint } = explainError(error)
    return { name: 'content', status: 'failed', detail: message, remedy: hint }
  }
  const nodes = receipt.verifiers.length + 1
  const whose = iclKey === undefined ? `by the key ${receipt.tally.key}` : 'by the given ICL key'
  return {
    name: 'content',
    status: 'ok',
    detail: `job, ${nodes} wallets, ${nodes} signatures, evidence and votes fit; the tally is signed ${whose}`,
  }
}

async function checkOnChain(
  receipt: Receipt,
  { rpc }: ReceiptFlags,
  registry: Address | undefined,
  context: CommandContext,
): Promise<Check> {
  const name = 'chain'
  if (rpc === undefined) return { name, status: 'skipped', detail: 'no --rpc was given' }
  const { compareWithChain } = await import('./receipt-on-chain.ts')
  try {
    const detail = await compareWithChain(receipt, { rpcUrl: rpc, registry }, context)
    return { name, status: 'ok', detail }
  } catch (error) {
    const { message, hint } = explainError(error)
    const retryable = error instanceof SvcError && error.retryable
    return { name, status: 'failed', detail: message, remedy: hint, retryable }
  }
}

const verdictOf = (exitCode: number, { rpc }: ReceiptFlags): Verdict => {
  if (exitCode === exitCodes.done) return rpc === undefined ? 'consistent' : 'valid'
  return exitCode === exitCodes.tryAgain ? 'unknown' : 'invalid'
}

const sentences: Readonly<Record<Verdict, string>> = {
  valid: 'The receipt is valid: it is consistent, and the chain holds its hash.',
  consistent: 'The receipt is consistent. Anyone can make one that is: compare it with the chain.',
  invalid: 'The receipt is invalid.',
  unknown: 'The chain could not be asked: whether the receipt is valid is not known.',
}

/** What nothing in the checks shows, with the flag that does. */
const notChecked = ({ rpc, resultRegistry, iclKey }: ReceiptFlags): readonly string[] => [
  ...(rpc === undefined ? ['that the chain holds its hash (--rpc)'] : []),
  ...(rpc !== undefined && resultRegistry === undefined
    ? ['that ResultRegistry is not one of a made-up ICL (--result-registry)']
    : []),
  ...(iclKey === undefined ? ['that the tally is signed by the ICL (--icl-key)'] : []),
  'that its nodes have a stake and were drawn',
]

async function report(
  receipt: Receipt | undefined,
  checks: readonly Check[],
  flags: ReceiptFlags,
  { print }: CommandContext,
): Promise<number> {
  const exitCode = exitCodeOfChecks(checks)
  const hash = receipt && (await receiptHash(receipt))
  const verdict = verdictOf(exitCode, flags)
  const not_checked = notChecked(flags)
  if (flags.json) {
    print(
      JSON.stringify({ verdict, not_checked, receipt_hash: hash, jobId: receipt?.jobId, checks }),
    )
    return exitCode
  }
  for (const check of checks) print(checkLine(check))
  if (receipt !== undefined && exitCode === exitCodes.done) {
    const { body } = receipt.tally
    print(
      `Job ${receipt.jobId}: ${receipt.model_id}, settled ${timeText(body.settled_at)} with ${body.matches} of ${receipt.verifiers.length} verifiers`,
    )
    print(`Receipt hash ${hash}`)
    print(`Not checked: ${not_checked.join('; ')}`)
  }
  print(sentences[verdict])
  return exitCode
}
