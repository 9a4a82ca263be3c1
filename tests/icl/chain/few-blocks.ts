/** Requests to an RPC that refuses to search more than so many blocks at once. */
export const searching =
  (most: number) =>
  async (request: Request): Promise<Response> => {
    const { id, method, params } = await request.clone().json()
    const [{ fromBlock, toBlock } = { fromBlock: 0, toBlock: 0 }] = params ?? []
    if (method !== 'eth_getLogs' || Number(toBlock) - Number(fromBlock) < most) {
      return await fetch(request)
    }
    const error = { code: -32_600, message: `eth_getLogs takes up to a ${most} block range` }
    return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 })
  }
