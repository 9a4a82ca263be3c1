import type { Page } from 'playwright-core'
import { createWalletClient, type Hex, http, type LocalAccount, numberToHex } from 'viem'

type Call = { readonly method: string; readonly params?: readonly unknown[] }

/** A wallet in the page (EIP-1193, announced as EIP-6963 wants) whose key is here; tells what it was asked for. */
export async function giveStubWallet(
  page: Page,
  account: LocalAccount,
  chain: { readonly rpcUrl: string; readonly chainId: number },
  /** When its user lets the page use the account. */
  allowed: Promise<void>,
): Promise<{ readonly asked: readonly string[] }> {
  const asked: string[] = []
  const client = createWalletClient({ account, transport: http(chain.rpcUrl) })
  const answer = async ({ method, params = [] }: Call): Promise<unknown> => {
    asked.push(method)
    switch (method) {
      case 'eth_requestAccounts':
        await allowed
        return [account.address]
      case 'eth_chainId':
        return numberToHex(chain.chainId)
      case 'personal_sign':
        return account.signMessage({ message: { raw: params[0] as Hex } })
      case 'eth_signTypedData_v4':
        return account.signTypedData(JSON.parse(String(params[1])))
      case 'eth_sendTransaction': {
        const { to, data, gas } = params[0] as { to: Hex; data: Hex; gas: Hex }
        return client.sendTransaction({ to, data, gas: BigInt(gas), chain: null })
      }
      default:
        throw new Error(`The stub wallet does not know ${method}`)
    }
  }
  await page.exposeFunction('askStubWallet', (call: string) => answer(JSON.parse(call)))
  await page.addInitScript(() => {
    const provider = {
      request: (call: unknown) =>
        (globalThis as unknown as { askStubWallet(text: string): Promise<unknown> }).askStubWallet(
          JSON.stringify(call),
        ),
    }
    const info = { uuid: 'stub', name: 'Stub wallet', icon: 'data:,', rdns: 'test.stub' }
    const announce = () =>
      dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider } }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  })
  return { asked }
}
