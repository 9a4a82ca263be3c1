import type { Hash32 } from '../codecs.ts'
import { checkOf } from '../prompt-needs.ts'
import type { Receipt } from '../schemas/receipt.ts'
import type { CheckSigned } from '../signed-statement.ts'
import { weighedAt, wrongNumbers } from '../weighing.ts'
import type { NamedAnswer } from './answers.ts'
import { check } from './refuse.ts'

/** Checks that the terms ask for numbers, and that these are possible, signed, and of the answers that their nodes weigh. Only the provider could show whether they are true. */
export async function verifyAttested(
  { attested = [], list, max_output_tokens: most }: Receipt,
  answers: readonly NamedAnswer[],
  checkSigned: CheckSigned,
): Promise<void> {
  const isAsked = attested.length === 0 || checkOf(list.terms.needs) !== undefined
  check(isAsked, 'it attests numbers that its terms do not ask for')
  for (const [at, signed] of attested.entries()) {
    const { address, fence } = signed.body
    const isSecond = attested.slice(0, at).some(({ body }) => body.address === address)
    check(!isSecond, `${address} opened numbers twice`)
    const own = answers.findIndex((answer) => answer.address === address && answer.fence === fence)
    check(own !== -1, `${address} attests without an answer`)
    const weighs: readonly Hash32[] = weighedAt(answers, own).map(({ hash }) => hash)
    const wrong = wrongNumbers(signed.body, weighs, most)
    check(wrong === undefined, `the numbers of ${address} have ${wrong}`)
    await checkSigned(signed)
  }
}
