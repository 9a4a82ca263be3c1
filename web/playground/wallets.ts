import { z } from 'zod'
import type { WalletProvider } from '../../lib/chain/wallet-account.ts'
import { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A wallet of the browser. It chooses its own name. */
export type OfferedWallet = {
  readonly id: string
  readonly name: string
  readonly provider: WalletProvider
}

const Provider = z.custom<WalletProvider>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    'request' in value &&
    typeof value.request === 'function',
)

// An announcement by EIP-6963. Icons are ignored.
const Announcement = z.object({
  info: z.object({ uuid: z.string().min(1).max(64), name: z.string().min(1).max(64) }),
  provider: Provider,
})

const maxWallets = 12

/** Finds the browser's wallets (EIP-6963, else `window.ethereum`), and reports each new list. Returns a function that ends it. */
export function discoverWallets(tell: (wallets: readonly OfferedWallet[]) => void): () => void {
  const found = new Map<string, OfferedWallet>()
  const announced = (event: Event) => {
    const parsed = Announcement.safeParse((event as CustomEvent).detail)
    if (!parsed.success || found.size >= maxWallets) return
    const { info, provider } = parsed.data
    found.delete('injected')
    found.set(info.uuid, { id: info.uuid, name: info.name, provider })
    tell([...found.values()])
  }
  window.addEventListener('eip6963:announceProvider', announced)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  const injected = Provider.safeParse((window as { ethereum?: unknown }).ethereum)
  if (found.size === 0 && injected.success) {
    found.set('injected', {
      id: 'injected',
      name: 'Wallet of this browser',
      provider: injected.data,
    })
  }
  tell([...found.values()])
  return () => window.removeEventListener('eip6963:announceProvider', announced)
}

/** Returns the account that the wallet lets this page use, perhaps after asking its user; throws SvcError `wallet-refused`. */
export async function accountOf({ provider, name }: OfferedWallet): Promise<Address> {
  const accounts = await provider.request({ method: 'eth_requestAccounts' }).catch((cause) => {
    throw new SvcError('wallet-refused', `${name} gave this page no account`, {
      hint: 'Try again and allow it in the wallet.',
      cause,
    })
  })
  const parsed = z.array(Address).min(1).safeParse(accounts)
  const address = parsed.data?.[0]
  if (address !== undefined) return address
  throw new SvcError('wallet-refused', `${name} has no account for this page`, {
    hint: 'Choose an account in the wallet.',
  })
}
