import { z } from 'zod'
import { CoprocessorUrls } from './coprocessor-urls.ts'

/** What the playground has to know besides what the ICL tells everybody, as the ICL's operator has set it. */
export const PlaygroundSettings = z.object({
  /** The chain's JSON-RPC for browsers. */
  rpc_url: z.url({ protocol: /^https?$/ }),
  /** Absent where none is known, as on a local chain that is its own coprocessor. */
  coprocessor: CoprocessorUrls.optional(),
})
export type PlaygroundSettings = z.output<typeof PlaygroundSettings>
