import type { JobView, SlotReason } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'

const remedies: Partial<Record<SlotReason, { readonly what: string; readonly hint: string }>> = {
  'provider-key-refused': {
    what: 'the provider refused the API key of the nodes',
    hint: 'Check {variable} of the nodes.',
  },
  'provider-model-unknown': {
    what: 'the provider does not know the model',
    hint: 'Check the name of the model ({model}).',
  },
  'provider-rate-limited': {
    what: "the provider's rate limit or quota is used up",
    hint: "Wait, or raise the quota of the nodes' key ({variable}).",
  },
  'provider-refused': {
    what: 'the provider refused the request',
    hint: 'Check the prompt and the parameters.',
  },
  'provider-unavailable': {
    what: 'the provider cannot be reached or does not answer',
    hint: 'Check the network and the base URL of the provider, or try again later.',
  },
  'fhe-decrypt-denied': {
    what: 'the coprocessor denies the nodes the prompt key',
    hint: 'Store the key again with the quorum as its readers.',
  },
}

const keyVariables: Record<string, string> = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
}

/** Why a job finds no nodes, from what ended its assignments. */
export function stuckJobError(view: JobView): SvcError {
  const reason = commonReason(view)
  const remedy = reason === undefined ? undefined : remedies[reason]
  if (reason === undefined || remedy === undefined) {
    const known = reason === undefined ? '' : ` (last reason: ${reason})`
    return new SvcError('not-enough-nodes', `No node is left that can do the job${known}`, {
      hint: 'Wait until more nodes are active, or start more.',
      retryable: true,
    })
  }
  const provider = view.model_id.slice(0, view.model_id.indexOf(':'))
  const hint = remedy.hint
    .replace('{variable}', keyVariables[provider] ?? 'the API key')
    .replace('{model}', view.model_id)
  return new SvcError(reason, `The job cannot be done: ${remedy.what}`, { hint })
}

/** The reason that ended most assignments. */
function commonReason(view: JobView): SlotReason | undefined {
  const counts = new Map<SlotReason, number>()
  for (const { reason } of view.quorum) {
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
}
