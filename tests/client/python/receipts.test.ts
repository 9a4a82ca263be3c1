import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { utf8 } from '../../../lib/digest.ts'
import { tallyKey } from '../../lib/make-receipt.ts'
import { checkFile, quietContext } from '../../node/commands/context.ts'
import { createDice } from '../../simulation/dice.ts'
import valid from '../../vectors/receipts-valid.json' with { type: 'json' }
import { flipped, mutated } from './mutated.ts'
import { cannot, runPython, skipped } from './python.ts'
import { resigned } from './resigned.ts'

const rounds = 500
const signedRounds = 500
const dice = createDice(23)
const receipts = valid.receipts.map(({ receipt }) => receipt)

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-python-receipts-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** What both make of these files: true for a receipt that holds. */
async function verdicts(files: readonly Uint8Array[]) {
  const key = (await tallyKey()).publicKey
  const path = join(folder, 'receipt.json')
  const here: boolean[] = []
  for (const file of files) {
    await writeFile(path, file)
    const code = await checkFile(path, { iclKey: key, json: true }, quietContext({}))
    here.push(code === 0)
  }
  const all = join(folder, 'all.json')
  await writeFile(all, JSON.stringify(files.map((file) => Buffer.from(file).toString('base64'))))
  const { code, stdout, stderr } = await runPython(['-m', 'tests.verdicts', all, key])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return { here, python: JSON.parse(stdout) as readonly boolean[] }
}

/** The first that the two disagree on, for a failure that can be read. */
const disputed = (
  { here, python }: Awaited<ReturnType<typeof verdicts>>,
  files: readonly Uint8Array[],
) =>
  files
    .flatMap((file, at) => (here[at] === python[at] ? [] : [new TextDecoder().decode(file)]))
    .slice(0, 1)

describe.skipIf(cannot)(`receipts at the client in Python${skipped}`, () => {
  it(`are refused by both, each of ${rounds} that were changed`, async () => {
    const files = Array.from({ length: rounds }, () => {
      const receipt = dice.pick(receipts)
      const bytes = utf8(JSON.stringify(receipt))
      return dice.chance(0.3) ? flipped(bytes, dice) : utf8(JSON.stringify(mutated(receipt, dice)))
    })
    const found = await verdicts(files)
    expect(found.python).toEqual(Array(rounds).fill(false))
    expect(found.here).toEqual(found.python)
  })

  it(`get the same verdict by both, each of ${signedRounds} that were changed and signed again by all`, async () => {
    const files: Uint8Array[] = receipts.map((receipt) => utf8(JSON.stringify(receipt)))
    while (files.length < signedRounds) {
      const receipt = dice.pick(receipts)
      // What nodes saw is a small part of a receipt.
      const changed = dice.chance(0.3)
        ? { ...receipt, seen: mutated(receipt.seen, dice) }
        : mutated(receipt, dice)
      const made = await resigned(receipt, changed, dice.chance(0.5)).catch(() => undefined)
      if (made !== undefined) files.push(utf8(JSON.stringify(made)))
    }
    const found = await verdicts(files)
    expect(disputed(found, files)).toEqual([])
    expect(found.python.slice(0, receipts.length)).toEqual(receipts.map(() => true))
    const held = found.python.filter((holds) => holds).length
    expect(held).toBeGreaterThan(receipts.length)
    expect(held).toBeLessThan(signedRounds / 2)
  })
})
