import type { z } from 'zod'
import { openAnswer, readAnswer } from '../../lib/outgoing.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type {
  ConsoleJob,
  ConsoleJobDetail,
  ConsoleNode,
  ConsoleOverview,
} from '../../lib/schemas/console.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import type { NodeRecord, ReputationStatement } from '../../lib/schemas/nodes.ts'
import { pageFetch } from '../../lib/system.ts'
import type { Page } from './use-pages.ts'

const timeoutMs = 15_000
const maxAnswerBytes = 4_194_304

/** A failed request to the ICL; `needsToken` when the operator shows the console only to holders of the token. */
export class IclError extends Error {
  readonly status: number
  readonly needsToken: boolean

  constructor(message: string, status = 0, code = '') {
    super(message)
    this.status = status
    this.needsToken = code === 'token-invalid'
  }
}

type NodeEvent = { readonly body: ReputationStatement }

// The token, which is never stored. A reload asks for it again.
let token: string | undefined

/** Sets the operator's token for later requests. */
export const setToken = (given: string): void => {
  token = given
}

export const hasToken = (): boolean => token !== undefined

/** Sends a request to the ICL that served this page; throws IclError. */
export async function ask(
  path: string,
  bearer = token,
  signal: AbortSignal = AbortSignal.timeout(timeoutMs),
): Promise<Response> {
  const headers = bearer ? { authorization: `Bearer ${bearer}` } : undefined
  const response = await openAnswer(pageFetch, path, {
    ...(headers && { headers }),
    signal,
    cache: 'no-store',
    credentials: 'omit',
  }).catch(() => {
    throw new IclError('The ICL cannot be reached')
  })
  if (response.ok) return response
  const problem = await readJson(response).catch(() => ({}))
  const detail =
    typeof problem?.detail === 'string' ? problem.detail : `It returns ${response.status}`
  throw new IclError(detail, response.status, String(problem?.code ?? ''))
}

const readJson = async (response: Response) =>
  Object(parseJson(await readAnswer(response, maxAnswerBytes)))

const read = async <T>(path: string, bearer?: string): Promise<T> =>
  readJson(await ask(path, bearer))

/** Reads one page of a list, which its answer holds by the last part of the path. */
async function readPage<T>(
  path: string,
  query: Readonly<Record<string, string | null>>,
): Promise<Page<T>> {
  const filled = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value]] : []))
  const { next_cursor: next, ...lists } = await read<{ readonly next_cursor: string | null }>(
    filled.length === 0 ? path : `${path}?${new URLSearchParams(filled)}`,
  )
  const [items = []] = Object.values<readonly T[]>(lists)
  return { items, next }
}

/** The requests of the page. Each throws IclError. */
export const icl = {
  overview: () => read<ConsoleOverview>('/v1/console/overview'),
  nodes: (cursor: string | null) => readPage<ConsoleNode>('/v1/console/nodes', { cursor }),
  node: (address: string) =>
    read<z.output<typeof NodeRecord>>(`/v1/nodes/${encodeURIComponent(address)}`),
  nodeEvents: (address: string, cursor: string | null) =>
    readPage<NodeEvent>(`/v1/nodes/${encodeURIComponent(address)}/events`, { cursor }),
  jobs: (phase: string, cursor: string | null) =>
    readPage<ConsoleJob>('/v1/console/jobs', { phase, cursor }),
  job: (name: string) => read<ConsoleJobDetail>(`/v1/console/jobs/${encodeURIComponent(name)}`),
  ownJob: (jobId: string, readToken: string) =>
    read<JobView>(`/v1/inference/${encodeURIComponent(jobId)}`, readToken),
}
