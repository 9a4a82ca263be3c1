import { privateKeyToAccount } from 'viem/accounts'
import { type Api, createApi } from '../../lib/api.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import {
  type CheckedDraw,
  checkDraws,
  clockSkewSeconds,
  epochSeconds,
} from '../../lib/check-draws.ts'
import { Address } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import type { AdminTerminal } from './admin.ts'
import { columns } from './admin-text.ts'
import { parseRecomputeOptions, type RecomputeOptions, usage } from './recompute-options.ts'

const attempts = 4
const tryAgain = 75
// Its blocks come only with transactions, and its time may jump.
const localChainId = 31337

/** Recomputes a job's quorum as a command; returns its exit code. */
export async function recomputeQuorum(
  args: readonly string[],
  terminal: AdminTerminal,
  fetch: (request: Request) => Promise<Response> = (request) => globalThis.fetch(request),
): Promise<number> {
  try {
    const options = await parseRecomputeOptions(args, terminal.environment)
    if (!options) {
      terminal.print(usage)
      return 0
    }
    const report = await recompute(options, fetch)
    const lines = options.json ? [JSON.stringify(jsonOf(report), null, 2)] : linesOf(report)
    for (const line of lines) terminal.print(line)
    return isWhole(report) ? 0 : 1
  } catch (error) {
    return explain(error, terminal)
  }
}

type Report = {
  readonly job: JobView
  readonly draws: readonly CheckedDraw[]
  /** Of the job as a whole. */
  readonly mistakes: readonly string[]
  readonly blocks: 'checked' | 'not checked'
}

async function recompute(
  options: RecomputeOptions,
  fetch: (request: Request) => Promise<Response>,
): Promise<Report> {
  const connection = { baseUrl: options.icl, fetch, clock: systemClock, random: systemRandom }
  const open = createApi(connection)
  const [network, { keys }] = await Promise.all([
    open.getNetwork({}, { attempts }),
    open.getJwks({}, { attempts }),
  ])
  const { clientKey, readToken, jobId } = options
  const reader = clientKey
    ? createApi({ ...connection, signer: signerOf(clientKey, network.chain_id) })
    : open
  const job = await reader.getJob(
    { params: { jobId } },
    { attempts, ...(readToken !== undefined && { readToken }) },
  )
  const checked = await checkDraws(job, {
    chainId: network.chain_id,
    iclKeys: keys.filter(({ crv }) => crv === 'Ed25519').map(({ x }) => x),
    loadPool: (poolCid) => loadPool(open, poolCid),
  })
  const about = [
    ...(job.jobId === jobId ? [] : [`the ICL answered with the job ${job.jobId}`]),
    ...(options.client === undefined || options.client === job.client
      ? []
      : [`it is a job of ${job.client}`]),
  ]
  const { rpcUrl } = options
  const draws =
    rpcUrl === undefined ? checked.draws : await withBlocks(checked.draws, rpcUrl, network.chain_id)
  return {
    job,
    draws,
    mistakes: [...about, ...checked.mistakes],
    blocks: rpcUrl === undefined ? 'not checked' : 'checked',
  }
}

function signerOf(key: `0x${string}`, chainId: number): RequestSigner {
  const account = privateKeyToAccount(key)
  return {
    kind: 'wallet',
    address: Address.parse(account.address),
    chainId,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
}

async function loadPool(api: Pick<Api, 'getBlob'>, poolCid: string) {
  const load = (cid: string) => api.getBlob({ params: { cid } }, { attempts })
  return (await readPool(poolCid, load)).nodes
}

/** The draws with what the chain says of their blocks. */
async function withBlocks(
  draws: readonly CheckedDraw[],
  rpcUrl: string,
  chainId: number,
): Promise<readonly CheckedDraw[]> {
  const { publicClient } = createChainReader({ rpcUrl, chainId })
  const found = await publicClient.getChainId().catch((cause: unknown) => {
    throw unanswered(rpcUrl, cause)
  })
  if (found !== chainId) {
    throw new SvcError('usage', `--rpc-url is of chain ${found}, the ICL works on ${chainId}`, {
      hint: 'Give a node of the same chain.',
    })
  }
  const checked: CheckedDraw[] = []
  for (const draw of draws) {
    const { message } = draw
    if (!message) {
      checked.push(draw)
      continue
    }
    const block = await publicClient
      .getBlock({ blockNumber: BigInt(message.block_number) })
      .catch((cause: unknown) => {
        if (cause instanceof Error && cause.name === 'BlockNotFoundError') return undefined
        throw unanswered(rpcUrl, cause)
      })
    const mistakes = [
      ...(block?.hash === message.block_hash
        ? []
        : [
            `block ${message.block_number} has ${block ? 'another hash' : 'no place on this chain'}`,
          ]),
      ...(block && chainId !== localChainId && !isOfEpoch(block.timestamp, message.epoch)
        ? ['its block is not one that was new in its epoch']
        : []),
    ]
    checked.push({ ...draw, mistakes: [...draw.mistakes, ...mistakes] })
  }
  return checked
}

/** An ICL that could take any block could take one that suits it; the first of an epoch may be a little older. */
function isOfEpoch(timestamp: bigint, epoch: number): boolean {
  const age = Number(timestamp) - epoch * epochSeconds
  return age >= -epochSeconds && age < epochSeconds + clockSkewSeconds
}

const unanswered = (rpcUrl: string, cause: unknown): SvcError =>
  new SvcError('chain-unavailable', `The chain at ${new URL(rpcUrl).origin} did not answer`, {
    hint: 'Try again, or leave --rpc-url out.',
    retryable: true,
    cause,
  })

const isWhole = ({ draws, mistakes }: Report): boolean =>
  mistakes.length === 0 && draws.every((draw) => draw.mistakes.length === 0)

const countHolding = ({ draws }: Report): number =>
  draws.filter((draw) => draw.mistakes.length === 0).length

const jsonOf = (report: Report) => ({
  jobId: report.job.jobId,
  client: report.job.client,
  recomputed: isWhole(report),
  blocks: report.blocks,
  mistakes: report.mistakes,
  draws: report.draws.map(({ draw, message, nodes, recomputed, mistakes }) => ({
    epoch: message?.epoch,
    block_number: message?.block_number,
    ordinal: message?.ordinal,
    pool_cid: draw.pool_cid,
    pool_nodes: nodes,
    chosen: draw.chosen,
    recomputed,
    mistakes,
  })),
})

function linesOf(report: Report): readonly string[] {
  const { job, draws, mistakes, blocks } = report
  const rows = draws.map(({ draw, message, nodes, mistakes: wrong }, index) => [
    String(index),
    index === 0 ? 'preview' : 'empty seats',
    message ? String(message.epoch) : '-',
    message?.block_number ?? '-',
    nodes === undefined ? '-' : String(nodes),
    draw.chosen.join(' '),
    wrong.length === 0 ? 'the same' : 'DIFFERS',
  ])
  return [
    `Job ${job.jobId} of ${job.client}, ${job.model_id}`,
    ...columns([['draw', 'for', 'epoch', 'block', 'nodes', 'chosen', 'recomputed'], ...rows]),
    ...draws.flatMap(({ mistakes: wrong }, index) => wrong.map((text) => `draw ${index}: ${text}`)),
    ...mistakes.map((text) => `job: ${text}`),
    blocks === 'checked'
      ? 'The chain was asked for the block of every draw.'
      : 'The blocks are as the ICL signed them: --rpc-url asks the chain.',
    `${countHolding(report)} of ${draws.length} draws recomputed`,
  ]
}

function explain(error: unknown, { complain }: AdminTerminal): number {
  if (error instanceof SvcError) {
    complain(`${error.message}. ${error.hint}`)
    if (error.code === 'usage') return 2
    return error.retryable ? tryAgain : 1
  }
  if (error instanceof ProblemError) {
    complain(`The ICL refused: ${error.message}`)
    return error.retryable ? tryAgain : 1
  }
  complain(errorMessage(error))
  return 1
}
