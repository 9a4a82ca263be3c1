// npm run burst -- [--prompts N] [--clients N] [--nodes N] [--bystander]
import { parseArgs } from 'node:util'
import { runBurst } from './burst.ts'

const { values } = parseArgs({
  options: {
    prompts: { type: 'string', default: '500' },
    clients: { type: 'string', default: '1' },
    nodes: { type: 'string', default: '6' },
    bystander: { type: 'boolean', default: false },
  },
})

const result = await runBurst({
  prompts: Number(values.prompts),
  clients: Number(values.clients),
  nodes: Number(values.nodes),
  bystander: values.bystander,
  tell: (line) => void process.stderr.write(`${line}\n`),
})
const { sent, accepted, lost, overtaken, places, bystanderSeconds, seconds } = result
const median = bystanderSeconds[Math.floor(bystanderSeconds.length / 2)]
const told = [
  `${accepted} of ${sent} prompts answered in ${seconds.toFixed(0)} s`,
  `lost: ${JSON.stringify(lost)}`,
  `${overtaken} began out of order`,
  `${places.length} times a place was told`,
]
if (median !== undefined) {
  const longest = bystanderSeconds.at(-1) ?? median
  told.push(
    `one prompt at a time: ${bystanderSeconds.length} submitted after ${median.toFixed(1)} s (median), ${longest.toFixed(1)} s (longest)`,
  )
}
process.stdout.write(`${told.join('\n')}\n`)
process.exitCode = accepted === sent ? 0 : 1
