import { listen } from './listen-deno.ts'
import { runIcl } from './run-icl.ts'
import { Settings } from './settings.ts'

/** Only the ICL's settings, because Deno may allow this process no other variables. */
const environment = Object.fromEntries(
  Object.keys(Settings.shape).map((name) => [name, process.env[name]]),
)

await runIcl(listen, environment)
