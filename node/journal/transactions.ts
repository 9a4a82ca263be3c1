import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Hex, parseTransaction, recoverTransactionAddress } from 'viem'
import { z } from 'zod'
import type { FlightStore, KeptFlight } from '../../lib/chain/flight.ts'
import type { Address } from '../../lib/codecs.ts'
import { readJson, writePrivateJson } from '../../lib/host/private-files.ts'

const Raw = z
  .string()
  .max(262_144)
  .regex(/^0x[0-9a-f]+$/)
  .transform((text) => text as Hex)
const Raws = z.array(Raw).max(100)

const KeptFile = z.object({
  call: z.string().max(100),
  versions: Raws,
  cancels: Raws,
  most_wei: z
    .string()
    .regex(/^\d{1,30}$/)
    .transform(BigInt)
    .optional(),
  first_sent_at: z.int().min(0),
  is_given_up: z.boolean(),
})

/** Whose transactions, and on which chain. */
export type TransactionsOf = { readonly chainId: number; readonly address: Address }

/**
 * Keeps a wallet's transactions on a chain that are in no block yet, each in a file of its own (mode 0600) beside the configuration: the
 * daemon and the commands share them. What is signed again comes from the signed versions themselves, so that a changed file cannot make the
 * wallet sign another call. A file that cannot be read, or is of another wallet, counts as a transaction of another program. `save` throws
 * SvcError `file-unwritable`.
 */
export function openTransactions(configPath: string, of: TransactionsOf): FlightStore {
  const folder = join(dirname(configPath), 'transactions')
  const prefix = `${of.chainId}-${of.address}-`
  const pathOf = (nonce: number) => join(folder, `${prefix}${nonce}.json`)
  const read = async (name: string): Promise<KeptFlight | undefined> => {
    try {
      return await keptOf(of, KeptFile.parse(await readJson(join(folder, name), '')))
    } catch {
      return undefined
    }
  }
  return {
    all: async () => {
      const names = await readdir(folder).catch((): string[] => [])
      const own = names.filter((name) => name.startsWith(prefix) && name.endsWith('.json'))
      const kept = await Promise.all(own.map(read))
      return kept.filter((one) => one !== undefined).toSorted((a, b) => a.nonce - b.nonce)
    },
    save: ({ nonce, call, versions, cancels, mostWei, firstSentAt, isGivenUp }) => {
      const times = { first_sent_at: firstSentAt, is_given_up: isGivenUp }
      const most = mostWei === undefined ? {} : { most_wei: String(mostWei) }
      return writePrivateJson(pathOf(nonce), { call, versions, cancels, ...most, ...times })
    },
    remove: (nonce) => rm(pathOf(nonce), { force: true }),
  }
}

async function keptOf(
  of: TransactionsOf,
  { call, versions, cancels, most_wei, first_sent_at, is_given_up }: z.output<typeof KeptFile>,
): Promise<KeptFlight | undefined> {
  const signed = await Promise.all([...versions, ...cancels].map((raw) => signedBy(of, raw)))
  const [first, last] = [signed[0], signed.at(-1)]
  if (first?.to == null || last === undefined || first.gas === undefined) return undefined
  const { to, data = '0x', gas, value, nonce = 0 } = first
  if (signed.some((one) => one.nonce !== first.nonce)) return undefined
  return {
    ...{ nonce, call, versions, cancels, firstSentAt: first_sent_at, isGivenUp: is_given_up },
    mostWei: most_wei,
    request: { to, data, gas, ...(value !== undefined && { value }) },
    fees:
      last.type === 'eip1559'
        ? {
            maxFeePerGas: last.maxFeePerGas ?? 0n,
            maxPriorityFeePerGas: last.maxPriorityFeePerGas ?? 0n,
          }
        : { gasPrice: last.gasPrice ?? 0n },
  }
}

async function signedBy({ chainId, address }: TransactionsOf, raw: Hex) {
  const serializedTransaction = raw as Parameters<
    typeof recoverTransactionAddress
  >[0]['serializedTransaction']
  const by = await recoverTransactionAddress({ serializedTransaction })
  const parsed = parseTransaction(raw)
  if (by.toLowerCase() === address && parsed.chainId === chainId) return parsed
  throw new TypeError('a transaction of another wallet or chain')
}
