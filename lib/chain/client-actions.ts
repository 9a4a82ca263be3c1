import type { Chain, Client, HttpTransport, LocalAccount, PublicActions, WalletActions } from 'viem'
import {
  call,
  estimateFeesPerGas,
  estimateGas,
  estimateMaxPriorityFeePerGas,
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getContractEvents,
  getGasPrice,
  getLogs,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
  multicall,
  readContract,
  sendRawTransaction,
  signTypedData,
} from 'viem/actions'

/** The reads of viem that this project and CoFHE's SDK call. All of viem's would double its code in each executable and page. */
export type ReadActions = Pick<
  PublicActions<HttpTransport, Chain>,
  | 'call'
  | 'estimateFeesPerGas'
  | 'estimateGas'
  | 'estimateMaxPriorityFeePerGas'
  | 'getBalance'
  | 'getBlock'
  | 'getBlockNumber'
  | 'getChainId'
  | 'getCode'
  | 'getContractEvents'
  | 'getGasPrice'
  | 'getLogs'
  | 'getTransaction'
  | 'getTransactionCount'
  | 'getTransactionReceipt'
  | 'multicall'
  | 'readContract'
  | 'sendRawTransaction'
>

/** Extends a client of viem. */
export const readActions = (client: Client<HttpTransport, Chain>): ReadActions => ({
  call: (args) => call(client, args),
  estimateFeesPerGas: (args) => estimateFeesPerGas(client, args),
  estimateGas: (args) => estimateGas(client, args),
  estimateMaxPriorityFeePerGas: () => estimateMaxPriorityFeePerGas(client),
  getBalance: (args) => getBalance(client, args),
  getBlock: (args) => getBlock(client, args),
  getBlockNumber: (args) => getBlockNumber(client, args),
  getChainId: () => getChainId(client),
  getCode: (args) => getCode(client, args),
  getContractEvents: (args) => getContractEvents(client, args),
  getGasPrice: () => getGasPrice(client),
  getLogs: (args) => getLogs(client, args as never),
  getTransaction: (args) => getTransaction(client, args),
  getTransactionCount: (args) => getTransactionCount(client, args),
  getTransactionReceipt: (args) => getTransactionReceipt(client, args),
  multicall: (args) => multicall(client, args),
  readContract: (args) => readContract(client, args),
  sendRawTransaction: (args) => sendRawTransaction(client, args),
})

/** The one signature of a wallet that CoFHE's SDK asks for. */
export type SignActions = Pick<WalletActions<Chain, LocalAccount>, 'signTypedData'>

/** Extends a client of viem that has an account. */
export const signActions = (client: Client<HttpTransport, Chain, LocalAccount>): SignActions => ({
  signTypedData: (args) => signTypedData(client, args),
})
