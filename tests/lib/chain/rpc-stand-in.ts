import { toHex } from 'viem'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'

/** What an RPC answers to a method: a result, an error, or nothing at all. */
export type RpcAnswer = { readonly result: unknown } | { readonly error: object } | 'silence'

const usual: Readonly<Record<string, RpcAnswer>> = {
  eth_chainId: { result: toHex(31_337) },
  eth_getTransactionCount: { result: '0x0' },
  eth_gasPrice: { result: '0x1' },
  eth_maxPriorityFeePerGas: { result: '0x1' },
  eth_blockNumber: { result: '0x2' },
  eth_estimateGas: { result: '0x5208' },
  eth_getBlockByNumber: {
    result: { number: '0x2', baseFeePerGas: '0x1', gasLimit: '0x1c9c380', transactions: [] },
  },
  eth_getTransactionByHash: { result: null },
  eth_sendRawTransaction: { result: `0x${'ab'.repeat(32)}` },
}

/** A chain RPC over real HTTP that answers as told, else as a chain would that takes everything. */
export function startRpcStandIn(
  answers: Readonly<Record<string, RpcAnswer>>,
): Promise<LocalServer> {
  return startServer((response, { body }) => {
    type Call = { readonly id: number; readonly method: string }
    const answerTo = ({ id, method }: Call) => {
      const unknown: RpcAnswer = { error: { code: -32_601, message: `no ${method}` } }
      const answer = answers[method] ?? usual[method] ?? unknown
      return answer === 'silence' ? answer : { jsonrpc: '2.0', id, ...answer }
    }
    const asked = JSON.parse(body) as Call | Call[]
    const answer = Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked)
    if (answer !== 'silence') answerJson(response, 200, answer)
  })
}
