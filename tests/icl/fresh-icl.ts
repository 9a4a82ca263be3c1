import { afterEach, beforeEach } from 'vitest'
import { createTestIcl, joinNodes, type TestIcl, type TestNode } from './test-icl.ts'

/** The ICL of the test that runs, and its nodes, where the file calls `freshIcl`. */
export let icl: TestIcl
export let nodes: TestNode[]

/** Gives every test of the file an ICL of its own with so many nodes. */
export function freshIcl(count = 0): void {
  beforeEach(async () => {
    icl = await createTestIcl()
    nodes = await joinNodes(icl, count)
  })
  afterEach(() => icl.stop())
}

/** The node of this wallet. */
export const nodeAt = (address: string): TestNode => nodes.find((node) => node.address === address)!
