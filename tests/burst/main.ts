import { readCommandLine, wholeNumber } from '../command-line.ts'
import { runBurst } from './burst.ts'

const usage = `npm run burst -- [--prompts N] [--clients N] [--nodes N] [--bystander]

Sends prompts all at once and tells what came of them. Ends with 1 when one has no answer.

  --prompts N   how many (500)
  --clients N   from so many wallets (1)
  --nodes N     to so many nodes (6)
  --bystander   another client sends one prompt at a time meanwhile
`
const values = readCommandLine(usage, {
  prompts: { type: 'string', default: '500' },
  clients: { type: 'string', default: '1' },
  nodes: { type: 'string', default: '6' },
  bystander: { type: 'boolean', default: false },
})

const result = await runBurst({
  prompts: wholeNumber('prompts', values.prompts),
  clients: wholeNumber('clients', values.clients),
  nodes: wholeNumber('nodes', values.nodes, 3),
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
// What guards the local chain keeps the process alive.
process.exit(accepted === sent ? 0 : 1)
