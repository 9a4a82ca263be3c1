import { z } from 'zod'
import { flag, option, WholeNumber } from '../../lib/host/program/option.ts'
import { runOnly } from '../run-program.ts'
import { runBurst } from './burst.ts'

await runOnly('npm run burst --', {
  summary:
    'Send prompts all at once and tell what came of them. Ends with 1 when one has no answer.',
  options: z.object({
    prompts: option(WholeNumber(1, 1_000_000).default(500), 'N', 'How many'),
    clients: option(WholeNumber(1, 1_000).default(1), 'N', 'From so many wallets'),
    nodes: option(WholeNumber(3, 100).default(6), 'N', 'To so many nodes'),
    bystander: flag('Another client sends one prompt at a time meanwhile'),
  }),
  run: async (given, { print, warn }) => {
    const result = await runBurst({ ...given, tell: warn })
    const { sent, accepted, lost, overtaken, places, bystanderSeconds, seconds } = result
    print(`${accepted} of ${sent} prompts answered in ${seconds.toFixed(0)} s`)
    print(`lost: ${JSON.stringify(lost)}`)
    print(`${overtaken} began out of order`)
    print(`${places.length} times a place was told`)
    const median = bystanderSeconds[Math.floor(bystanderSeconds.length / 2)]
    if (median !== undefined) {
      const longest = bystanderSeconds.at(-1) ?? median
      print(
        `one prompt at a time: ${bystanderSeconds.length} submitted after ${median.toFixed(1)} s (median), ${longest.toFixed(1)} s (longest)`,
      )
    }
    return accepted === sent ? 0 : 1
  },
})
