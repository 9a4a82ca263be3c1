import { toHex } from 'viem'
import { answerJson, type LocalServer, startServer } from '../local-server.ts'

/** A chain's RPC that knows its id and nothing else. */
export const startStubChain = (chainId = 31_337): Promise<LocalServer> =>
  startServer((response, { body }) => {
    const { id, method } = JSON.parse(body)
    const known = method === 'eth_chainId' || method === 'net_version'
    const error = { code: -32_601, message: 'no such method' }
    const rest = known ? { result: toHex(chainId) } : { error }
    answerJson(response, 200, { jsonrpc: '2.0', id, ...rest })
  })
