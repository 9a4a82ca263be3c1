import { readFile, rm } from 'node:fs/promises'
import { z } from 'zod'
import { Address, Hash32 } from '../lib/codecs.ts'
import { writeWhole } from '../lib/host/write-whole.ts'
import { parseJson } from '../lib/parse-json.ts'
import { SvcError } from '../lib/svc-error.ts'
import { type ContractName, contractNames, type Terms } from './deploy-plan.ts'

/** A transaction that was signed and perhaps sent. */
const SentContract = z.strictObject({
  contract: z.enum(contractNames),
  address: Address,
  nonce: z.int().min(0),
  tx: Hash32,
})
export type SentContract = z.output<typeof SentContract>

const Purpose = z.strictObject({
  chain_id: z.int().positive(),
  deployer: Address,
  coordinator: Address,
  arbiter: Address,
  treasury: Address,
  min_stake: z.string().regex(/^\d{1,40}$/),
})
type Purpose = z.input<typeof Purpose>

const Progress = z.strictObject({ purpose: Purpose, sent: z.array(SentContract).max(3) })

/** Opens the progress of an earlier run, or starts a new one. Throws SvcError `deployment-unfinished` when it was for another purpose. */
export async function openProgress(
  addressFile: string,
  chainId: number,
  deployer: Address,
  terms: Terms,
) {
  const file = `${addressFile}.unfinished`
  const { minStake, ...roles } = terms
  const purpose: Purpose = {
    chain_id: chainId,
    deployer,
    ...roles,
    min_stake: String(minStake),
  }
  const sent = new Map<ContractName, SentContract>()
  for (const entry of await readSent(file, purpose)) sent.set(entry.contract, entry)
  return {
    sent: sent as ReadonlyMap<ContractName, SentContract>,
    /** Writes the transaction to disk before it is sent, so that a run after a kill finds it. */
    record: async (entry: SentContract): Promise<void> => {
      const known = new Set([...sent.values()].map(({ tx }) => tx))
      if ((await readSent(file, purpose)).some(({ tx }) => !known.has(tx))) {
        throw unusable(file, 'was changed: another run is at it')
      }
      sent.set(entry.contract, entry)
      // The recorded PromptKeyStore points to the registry before this one.
      if (entry.contract === 'NodeRegistry') sent.delete('PromptKeyStore')
      const progress = { purpose, sent: [...sent.values()] }
      writeWhole(file, `${JSON.stringify(progress, null, 2)}\n`)
    },
    forget: (): Promise<void> => rm(file, { force: true }),
  }
}

async function readSent(file: string, purpose: Purpose): Promise<readonly SentContract[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unusable(file, 'cannot be read')
  }
  const parsed = Progress.safeParse(parseJson(text))
  if (!parsed.success) throw unusable(file, 'is not what a deployment leaves behind')
  const differing = Object.keys(Purpose.shape).filter(
    (key) => parsed.data.purpose[key as keyof Purpose] !== purpose[key as keyof Purpose],
  )
  if (differing.length > 0) throw unusable(file, `has another ${differing.join(', ')}`)
  return parsed.data.sent
}

const unusable = (file: string, what: string): SvcError =>
  new SvcError('deployment-unfinished', `${file} of an earlier deployment ${what}`, {
    hint: 'Start with the options of that deployment to continue it, give another --out, or remove the file to give it up.',
  })
