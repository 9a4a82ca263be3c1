import { createChainWriter } from '../../lib/chain/clients.ts'
import { namedAddress } from '../../lib/host/keystore.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import { sendingWith } from '../chain/sending.ts'
import { type LoadedConfig, loadConfig } from '../config-file.ts'
import { openTransactions } from '../journal/transactions.ts'
import { openWallet } from '../wallet.ts'
import { type CommandContext, warnOf } from './context.ts'
import type { Given } from './options.ts'
import {
  type PendingTransaction,
  pendingText,
  pendingTransactions,
} from './pending-transactions.ts'
import { confirmed } from './prompts.ts'
import { ownNetworkOf, registryEndpoint, rpcName, withTimeout } from './reach.ts'

type Change = { readonly how: 'replace' | 'cancel'; readonly nonce: number }

/** Shows the wallet's transactions that are in no block, or raises the fees of one, or cancels it. Throws SvcErrors and chain errors. */
export async function showTransactions(
  flags: Given<'transactions'>,
  context: CommandContext,
): Promise<undefined> {
  const change = changeOf(flags)
  const loaded = await loadConfig(context.environment, warnOf(context))
  const { config, configPath, keystorePath } = loaded
  const place = registryEndpoint(await ownNetworkOf(config, context), config.cofhe_endpoint)
  const address = await namedAddress(keystorePath)
  const pending = () =>
    withTimeout(context, rpcName(config.cofhe_endpoint), async (signal) => {
      await checkEndpoint(place, signal, warnOf(context))
      return await pendingTransactions(configPath, place, address, context, signal)
    })
  if (change) {
    const one = (await pending()).find(({ nonce }) => nonce === change.nonce)
    if (one === undefined) {
      const hint = 'See `svc-node transactions`.'
      throw new SvcError(
        'transaction-unknown',
        `no transaction with nonce ${change.nonce} waits for a block`,
        { hint },
      )
    }
    await raise(loaded, place.chainId, change, one, flags, context)
  }
  const left = await pending()
  if (flags.json) context.print(JSON.stringify({ address, transactions: left }))
  else if (left.length === 0) context.print('No transaction waits for a block.')
  else for (const one of left) context.print(`Transaction ${pendingText(one)}`)
}

function changeOf({ replace, cancel }: Given<'transactions'>): Change | undefined {
  if (replace !== undefined) return { how: 'replace', nonce: replace }
  return cancel === undefined ? undefined : { how: 'cancel', nonce: cancel }
}

const waitMs = 120_000

async function raise(
  loaded: LoadedConfig,
  chainId: number,
  { how, nonce }: Change,
  one: PendingTransaction,
  flags: Given<'transactions'>,
  context: CommandContext,
): Promise<void> {
  const { config, configPath } = loaded
  const { account, address } = await openWallet(loaded, context)
  const doing = how === 'replace' ? 'Raise the fee of' : 'Cancel'
  await confirmed(context, flags, `${doing} transaction ${pendingText(one)}?`)
  const over = new AbortController()
  const late = new SvcError('transaction-pending', `transaction ${nonce} is in no block yet`, {
    hint: 'Try again, or set a higher max_fee_gwei.',
    retryable: true,
  })
  context.clock.sleep(waitMs, over.signal).then(
    () => over.abort(late),
    () => {},
  )
  const writer = createChainWriter({ rpcUrl: config.cofhe_endpoint, chainId, account })
  // A daemon finds the last version by the file, so it stays until the daemon or its next run has seen the block.
  const store = { ...openTransactions(configPath, { chainId, address }), remove: async () => {} }
  const log = { info: context.warn, warning: warnOf(context) }
  const options = { store, maxFeeGwei: config.max_fee_gwei, log, signal: over.signal, settleMs: 0 }
  try {
    await sendingWith(writer, options).sender.raise(nonce, how, over.signal)
  } catch (error) {
    if (!(how === 'cancel' && error instanceof SvcError && error.code === 'chain-cancelled'))
      throw error
  } finally {
    over.abort()
  }
}
