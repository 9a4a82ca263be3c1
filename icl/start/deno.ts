import { listen } from './listen-deno.ts'
import { runIcl } from './run-icl.ts'
import { Settings } from './settings.ts'

/** Those of the ICL's settings alone: this process may be allowed to see no others. */
const environment = Object.fromEntries(
  Object.keys(Settings.shape).map((name) => [name, process.env[name]]),
)

await runIcl(listen, environment)
