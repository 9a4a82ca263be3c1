import type { Hex } from 'viem'
import type { ChainWriter } from '../lib/chain/clients.ts'
import { sendCall } from '../lib/chain/send.ts'

/** Sends a wallet money, once, also when the answer of the RPC is lost. */
export async function fundWallet(funder: ChainWriter, to: Hex, value: bigint): Promise<void> {
  await sendCall(funder, { to, data: '0x', value, abi: [], functionName: 'transfer' })
}
