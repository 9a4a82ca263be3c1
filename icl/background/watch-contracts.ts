import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'

const lookMs = 300_000

/** Looks at the contracts when the ICL starts and every 5 minutes, and logs each fault when it is found and when it is over. */
export function watchContracts(
  { chain, clock, log }: Pick<Dependencies, 'chain' | 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  let known: readonly string[] = []
  return every({ clock, log }, lookMs, signal, 'checking the contracts', async () => {
    const faults = await chain.findFaults()
    for (const fault of faults) if (!known.includes(fault)) log.error(fault)
    for (const fault of known) if (!faults.includes(fault)) log.info(`over: ${fault}`)
    known = faults
  })
}
