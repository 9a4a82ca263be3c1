const timeoutMs = 60_000

/** One JSON-RPC request. */
export type RpcCall = readonly [method: string, ...params: readonly unknown[]]

type Answer = {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** Sends requests to a chain as one batch; the results in the same order; throws what the chain refuses. */
export const createRpc =
  (url: string) =>
  async (calls: readonly RpcCall[]): Promise<readonly unknown[]> => {
    if (calls.length === 0) return []
    const body = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const answers = (await response.json()) as readonly Answer[]
    const byId = new Map(answers.map((answer) => [answer.id, answer]))
    return calls.map(([method, ...params], id) => {
      const answer = byId.get(id)
      if (answer === undefined) throw new Error(`${method}: the chain did not answer`)
      if (answer.error)
        throw new Error(
          `${method} ${JSON.stringify(params).slice(0, 300)}: ${answer.error.message}`,
        )
      return answer.result
    })
  }

export type Rpc = ReturnType<typeof createRpc>
