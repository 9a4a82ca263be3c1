import { createTestClient, http, publicActions } from 'viem'
import { systemClock } from '../../../lib/system.ts'

/** A client that may steer an anvil, and read it. */
export const anvilClient = (rpcUrl: string) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).extend(publicActions)

/** Waits until something holds; the limit of the test is its only one. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await systemClock.sleep(10)
}
