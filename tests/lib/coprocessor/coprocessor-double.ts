import { encodeAbiParameters, type Hex, parseAbiParameters, toFunctionSelector } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { sealValue } from '../../../contracts/local/coprocessor/seal-value.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import type { ProofInput, Prover } from '../../../lib/coprocessor/prover.ts'
import { CoprocessorUrls } from '../../../lib/schemas/coprocessor-urls.ts'
import { systemClock } from '../../../lib/system.ts'
import { type LocalServer, type Seen, startServer } from '../../local-server.ts'

/** A chain id at which the SDK takes its production path. */
export const chainId = 420_105

const acl: Hex = `0x${'ac'.repeat(20)}`
const domainOf = (id: number, contract: Hex): Hex =>
  encodeAbiParameters(
    parseAbiParameters('bytes1, string, string, uint256, address, bytes32, uint256[]'),
    ['0x0f', 'ACL', '1', BigInt(id), contract, `0x${'0'.repeat(64)}`, []],
  )

/** What the double answers: a status, and a text or something as JSON. `undefined` is never answered. */
type DoubleAnswer = { readonly status: number; readonly body: unknown } | undefined

const ok = (body: unknown): DoubleAnswer => ({ status: 200, body })

/** What to answer, by path; a test changes it between calls. */
export type DoubleAnswers = {
  publicKey: () => DoubleAnswer
  crs: () => DoubleAnswer
  verify: (body: { readonly packed_list: string; readonly account_addr: string }) => DoubleAnswer
  seal: (body: {
    readonly permit: { readonly sealingKey: Hex; readonly expiration: unknown }
  }) => DoubleAnswer
  poll: () => DoubleAnswer
  domain: { chainId: number; contract: Hex }
}

/** The value that the double decrypts every handle to. */
export const sealedValue = 0xabcdn

const usualAnswers = (): DoubleAnswers => ({
  publicKey: () => ok({ publicKey: `0x${'aa'.repeat(10_000)}` }),
  crs: () => ok({ crs: `0x${'cc'.repeat(10_000)}` }),
  verify: () => {
    const item = (ct_hash: string) => ({ ct_hash, signature: `0x${'11'.repeat(64)}`, recid: 1 })
    return ok({ status: 'success', data: [item('0x10'), item('0x20')], error: null })
  },
  seal: ({ permit }) =>
    ok({ request_id: 'one', is_succeed: true, sealed: sealValue(sealedValue, permit.sealingKey) }),
  poll: () => ({ status: 404, body: {} }),
  domain: { chainId, contract: acl },
})

function chainAnswer(answers: DoubleAnswers, { id, method, params }: RpcCall): DoubleAnswer {
  const { domain } = answers
  if (method === 'eth_chainId') return ok({ jsonrpc: '2.0', id, result: '0x66909' })
  const isAcl = params[0]?.data === toFunctionSelector('acl()')
  const padded = `0x${acl.slice(2).padStart(64, '0')}`
  return ok({
    jsonrpc: '2.0',
    id,
    result: isAcl ? padded : domainOf(domain.chainId, domain.contract),
  })
}

type RpcCall = {
  readonly id: number
  readonly method: string
  readonly params: readonly { readonly data?: string }[]
}

function answerTo(answers: DoubleAnswers, { path, body }: Seen): DoubleAnswer {
  switch (path) {
    case '/GetNetworkPublicKey':
      return answers.publicKey()
    case '/GetCrs':
      return answers.crs()
    case '/verify':
      return answers.verify(JSON.parse(body))
    case '/v2/sealoutput':
      return answers.seal(JSON.parse(body))
    case '/rpc':
      return chainAnswer(answers, JSON.parse(body))
    default:
      return answers.poll()
  }
}

/** A DOUBLE of the coprocessor's three services and of the chain's access list: it knows no ciphertext and checks no proof. */
export async function startDouble(): Promise<
  LocalServer & { readonly answers: DoubleAnswers; readonly count: (path: string) => number }
> {
  const answers = usualAnswers()
  const server = await startServer((response, request) => {
    const answer = answerTo(answers, request)
    if (answer === undefined) return
    const { status, body } = answer
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const count = (path: string) => server.seen.filter((request) => request.path === path).length
  return { ...server, answers, count }
}

/** A prover that proves nothing; it keeps what it was asked for. */
export function doubleProver(prove?: Prover['prove']): Prover & { readonly asked: ProofInput[] } {
  const asked: ProofInput[] = []
  return {
    asked,
    prove: async (input, signal) => {
      asked.push(input)
      return prove ? await prove(input, signal) : new Uint8Array([1, 2, 3])
    },
  }
}

/** A coprocessor in its production mode at a double, as a new wallet. */
export const coprocessorAt = (
  url: string,
  options: Partial<Parameters<typeof createCofheCoprocessor>[0]> & { clock?: Clock } = {},
) =>
  createCofheCoprocessor({
    rpcUrl: `${url}/rpc`,
    chainId,
    account: privateKeyToAccount(generatePrivateKey()),
    clock: systemClock,
    coprocessor: CoprocessorUrls.parse({
      cofhe_url: url,
      verifier_url: url,
      threshold_network_url: url,
    }),
    prover: doubleProver(),
    ...options,
  })
