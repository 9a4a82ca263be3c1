// Runs a file with a Node that takes TypeScript as it is: node scripts/node.mjs FILE [ARGS...]
import { root } from './bun-binary.mjs'
import { describeOldNode, findNode } from './node-binary.mjs'
import { runProcess } from './run-process.mjs'
import { ensureSetup } from './setup.mjs'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('Usage: node scripts/node.mjs FILE [ARGS...]')
  process.exit(2)
}
await ensureSetup()
const node = findNode(root)
if (node === undefined) console.error(describeOldNode(file))
process.exitCode = node === undefined ? 1 : await runProcess(node, [file, ...args])
