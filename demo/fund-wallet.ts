import type { Hex } from 'viem'
import type { ChainWriter } from '../lib/chain/clients.ts'
import { sendCall } from '../lib/chain/send.ts'

/** Sends money to a wallet, exactly once even if the RPC's response is lost. */
export async function fundWallet(funder: ChainWriter, to: Hex, value: bigint): Promise<void> {
  await sendCall(funder, { to, data: '0x', value, abi: [], functionName: 'transfer' })
}
