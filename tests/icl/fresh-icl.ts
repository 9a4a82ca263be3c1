import { beforeEach, onTestFinished } from 'vitest'
import { createTestIcl, joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

/** The ICL that was started last. */
export let icl: TestIcl
/** Its nodes, where the file calls `freshIcl`. */
export let nodes: TestNode[]

/** Starts an ICL until the test ends. */
export async function startIcl(changes?: Parameters<typeof createTestIcl>[0]): Promise<TestIcl> {
  const own = await createTestIcl(changes)
  onTestFinished(() => own.stop())
  icl = own
  return own
}

/** Gives every test of the file an ICL of its own with so many nodes. */
export function freshIcl(count = 0): void {
  beforeEach(async () => {
    nodes = await joinNodes(await startIcl(), count)
  })
}

/** The node of this wallet. */
export const nodeAt = (address: string): TestNode => nodes.find((node) => node.address === address)!
