import type { InferenceStep } from '../../lib/client/steps.ts'

/** The page's words for the steps of an inference. */
export const stepWords: Record<InferenceStep, Record<'title' | 'purpose', string>> = {
  preview: { title: 'Fix the terms', purpose: 'With the pool of nodes that the ICL has published' },
  'encrypt-key': {
    title: 'Encrypt the key',
    purpose: 'Both halves, for the coprocessor on chain',
  },
  'store-key': {
    title: 'Store the key on chain',
    purpose: 'With a hash of the terms. No other account can read it yet',
  },
  list: {
    title: 'Draw the nodes',
    purpose: 'By the hash of that block. The ICL must get the same list',
  },
  'seal-prompt': {
    title: 'Encrypt the prompt',
    purpose: 'For these nodes and for you, in this browser',
  },
  'commit-list': {
    title: 'Commit to the list on chain',
    purpose: 'The quorum may read the key, and nobody who is not on the list ever will',
  },
  upload: { title: 'Upload the encrypted prompt', purpose: 'The ICL cannot read it' },
  submit: { title: 'Submit the job', purpose: 'Signed by your account' },
  inference: {
    title: 'The nodes answer, and one that agrees delivers',
    purpose: 'Each runs the prompt by itself. The others check the delivered answer',
  },
  receipt: {
    title: 'Check the receipt',
    purpose: 'Every signature in it, and that its answers agree',
  },
  'fetch-output': { title: 'Download the encrypted answer', purpose: 'By the hash of its bytes' },
  'decrypt-output': { title: 'Decrypt the answer', purpose: 'And hold it against the evidence' },
  commit: { title: 'Find the receipt on chain', purpose: 'Its hash, in the result registry' },
}
