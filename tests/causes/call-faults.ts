import type { ServerResponse } from 'node:http'
import { privateKeyToAccount } from 'viem/accounts'
import { createViemChain } from '../../icl/chain/viem.ts'
import { createApi } from '../../lib/api.ts'
import type { CauseCode } from '../../lib/causes.ts'
import { toClientError } from '../../lib/client/client-error.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { anAddress } from '../branded.ts'
import { type RpcAnswer, startRpcStandIn } from '../lib/chain/rpc-stand-in.ts'
import { answerJson, startServer } from '../local-server.ts'

/** What goes wrong in a call, to the ICL or from the ICL to its chain RPC, and what the caller is told. */
export type CallFault = {
  readonly fault: string
  readonly code: CauseCode
  readonly said: string
  /** How long a try may take, where nothing is answered. */
  readonly timeoutMs?: number
} & (
  | { readonly icl: (response: ServerResponse) => void }
  | { readonly rpc: Readonly<Record<string, RpcAnswer>> }
)

const problem = (status: number, code: string, detail: string) => (response: ServerResponse) =>
  answerJson(response, status, { type: 'x', title: code, detail, status, code, retryable: true })

const page = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'text/html' })
  response.end('<title>Bad gateway</title>')
}

const reading = 'reading access rights'

export const callFaults: readonly CallFault[] = [
  {
    fault: 'an ICL that is silent',
    icl: () => {},
    timeoutMs: 300,
    code: 'icl-unreachable',
    said: 'The call to the ICL at URL timed out',
  },
  {
    fault: 'an ICL that cuts the connection',
    icl: (response) => response.destroy(),
    code: 'icl-unreachable',
    said: 'The call to the ICL at URL failed (ECONNRESET: The socket connection was closed unexpectedly)',
  },
  {
    fault: 'a balancer without an ICL behind it',
    icl: page(502),
    code: 'icl-unexpected-answer',
    said: 'The ICL answered 502 without a known problem',
  },
  {
    fault: 'an ICL whose chain RPC hangs',
    icl: problem(
      503,
      'chain-unavailable',
      'the chain RPC of the ICL did not respond in time (nodesOf)',
    ),
    code: 'chain-unavailable',
    said: 'the chain RPC of the ICL did not respond in time (nodesOf)',
  },
  {
    fault: 'an RPC that is silent',
    rpc: { eth_call: 'silence' },
    timeoutMs: 100,
    code: 'chain-unavailable',
    said: `${reading}: the chain RPC does not respond`,
  },
  {
    fault: 'an RPC that fails inside, of the ICL',
    rpc: { eth_call: { error: { code: -32_603, message: 'internal error' } } },
    code: 'chain-rpc-failed',
    said: `${reading}: the chain RPC fails inside (internal error)`,
  },
  {
    fault: 'an RPC over its rate limit',
    rpc: { eth_call: { error: { code: -32_005, message: 'limit exceeded' } } },
    code: 'chain-too-many-requests',
    said: `${reading}: the chain RPC refuses requests: too many requests (limit exceeded)`,
  },
  {
    fault: 'a contract that reverts',
    rpc: { eth_call: { error: { code: 3, message: 'execution reverted', data: '0x' } } },
    code: 'chain-reverted',
    said: `${reading}: the contract reverted (execution reverted)`,
  },
]

/** What a client and a node read when they make the call; the console shows neither. */
export async function observeCall(row: CallFault) {
  const server = await ('icl' in row ? startServer(row.icl) : startRpcStandIn(row.rpc))
  try {
    const call = 'icl' in row ? callIcl : readChain
    const error = await call(server.url, row.timeoutMs ?? 15_000).catch((reason: unknown) => reason)
    const told = toClientError(error)
    if (!(told instanceof SvcError)) throw told
    const line = (text: string) => text.replaceAll(server.url, 'URL')
    return {
      ...{ fault: row.fault, code: told.code, node: line(errorText(error)), console: '' },
      client: line(`${told.message} [${told.hint}]`),
    }
  } finally {
    await server.close()
  }
}

const callIcl = (baseUrl: string, timeoutMs: number): Promise<unknown> =>
  createApi({ baseUrl, fetch, clock: systemClock, random: systemRandom }).getModels(
    {},
    { timeoutMs },
  )

const readChain = (rpcUrl: string, timeoutMs: number): Promise<unknown> => {
  const contract = anAddress(`0x${'0c'.repeat(20)}`)
  const contracts = { nodeRegistry: contract, promptKeyStore: contract, resultRegistry: contract }
  const chain = createViemChain({
    ...{ ...contracts, rpcUrl, chainId: 31_337, timeoutMs, confirmations: 1 },
    account: privateKeyToAccount(`0x${'17'.repeat(32)}`),
    clock: systemClock,
  })
  return chain.isAllowed(5n, contract)
}
