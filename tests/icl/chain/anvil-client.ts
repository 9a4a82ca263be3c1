import { createTestClient, http, publicActions } from 'viem'

/** A client that may steer an anvil, and read it. */
export const anvilClient = (rpcUrl: string) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).extend(publicActions)
