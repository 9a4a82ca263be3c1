import { z } from 'zod'
import { Address } from '../codecs.ts'
import { CoprocessorUrls } from './coprocessor-urls.ts'

/** An address file: a chain and its contracts' addresses, as `npm run contracts:deploy` writes it. */
export const Deployment = z.strictObject({
  /** The name for `--network`. */
  network: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be a name such as sepolia'),
  chain_id: z.int('must be a whole number').positive(),
  contracts: z.strictObject({
    node_registry: Address,
    prompt_key_store: Address,
    result_registry: Address,
  }),
  /** The coprocessor's task manager, which PromptKeyStore calls. */
  task_manager: Address,
  /** The block from which the contracts' events start. */
  block: z.int().min(0),
  /** The coprocessor's URLs; absent where each machine runs its own. */
  coprocessor: CoprocessorUrls.optional(),
})
export type Deployment = z.output<typeof Deployment>
