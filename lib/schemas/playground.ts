import { z } from 'zod'
import { CoprocessorUrls } from './coprocessor-urls.ts'

/** What the operator sets for the playground, besides what the ICL tells everybody. */
export const PlaygroundSettings = z.object({
  /** The chain's JSON-RPC for browsers. */
  rpc_url: z.url({ protocol: /^https?$/ }),
  /** Absent where none is known, as on a local chain. */
  coprocessor: CoprocessorUrls.optional(),
})
export type PlaygroundSettings = z.output<typeof PlaygroundSettings>
