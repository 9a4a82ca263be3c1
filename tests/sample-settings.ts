const address = `0x${'a1'.repeat(20)}`

/** The settings that an ICL cannot do without, and the store for its blobs: its chain is away. */
export const sampleSettings = {
  SVC_ICL_PUBLIC_URL: 'https://icl.test',
  SVC_ICL_SECRET: 'ab'.repeat(32),
  SVC_ICL_RPC_URL: 'http://127.0.0.1:9',
  SVC_ICL_CHAIN_ID: '31337',
  // Not the Kubo that may run on this machine.
  SVC_ICL_BLOBS: 'store',
  SVC_ICL_COORDINATOR_KEY: `0x${'11'.repeat(32)}`,
  SVC_ICL_NODE_REGISTRY: address,
  SVC_ICL_PROMPT_KEY_STORE: address,
  SVC_ICL_RESULT_REGISTRY: address,
}

const rates = ['ADDRESS', 'PREVIEW', 'ATTESTATION', 'FAILURE', 'WALLET', 'NODE', 'READER', 'UPLOAD']

/** Settings of an ICL at which few callers do a lot. */
export const withoutLimits: Readonly<Record<string, string>> = {
  SVC_ICL_JOBS_AT_ONCE: '1000',
  SVC_ICL_JOBS_PER_DAY: 'off',
  ...Object.fromEntries(rates.map((name) => [`SVC_ICL_RATE_${name}`, 'off'])),
}
