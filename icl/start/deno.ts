import { systemClock } from '../../lib/system.ts'
import { listen } from './listen-deno.ts'
import { runIcl } from './run-icl.ts'
import { Settings } from './settings.ts'

/** The part of Deno's API that is used here. It has `cron` on Deno Deploy, and with --unstable-cron. */
declare const Deno: {
  readonly cron?: (name: string, schedule: string, run: () => Promise<void>) => Promise<void>
}

/** Longer than the lease of a killed instance that led. */
const awakeMs = 20_000

// Deno Deploy stops an instance without requests. The cron starts one, so that due work is done, and ends as the last of its requests.
void Deno.cron?.('due work', '* * * * *', () => systemClock.sleep(awakeMs))

/** Only the ICL's settings, because Deno may allow this process no other variables. */
const environment = Object.fromEntries(
  Object.keys(Settings.shape).map((name) => [name, process.env[name]]),
)

await runIcl(listen, environment)
