import type { CommandSpec } from './commands/command-spec.ts'
import type { FlagSpec } from './commands/flags.ts'
import { receiptCommand } from './commands/receipt-command.ts'

const json: FlagSpec = ['--json', 'Print JSON']
const backends = ['mock', 'tpm']
const yes: FlagSpec = ['--yes', 'Ask nothing but the password']

/** All commands of `svc-node`, in the order in which an operator needs them (spec 4). */
export const commands: readonly CommandSpec[] = [
  {
    name: 'init',
    summary: 'Create the configuration and the wallet keystore',
    flags: [
      ['--icl-endpoint <url>', 'ICL base URL (SVC_ICL_ENDPOINT)'],
      ['--cofhe-endpoint <url>', 'Chain RPC address for FHE operations (SVC_COFHE_ENDPOINT)'],
      [
        '--cofhe-urls <urls>',
        'Coprocessor: one address, or three with commas (SVC_COFHE_URLS). Known for public networks',
      ],
      ['--ipfs-gateway <url>', 'IPFS gateway (SVC_IPFS_GATEWAY, default: the ICL)'],
      ['--models <ids>', 'Models to serve, comma separated (SVC_SUPPORTED_MODEL_IDS)'],
      ['--attestation-backend <name>', 'mock or tpm (default: mock)', backends],
      ['--backend <name>', 'The same as --attestation-backend', backends],
      ['--tpm <place>', 'Another TPM than that of this machine (SVC_TPM)'],
      ['--scrypt-n <n>', 'Cost of the keystore, a power of two of at least 4096 (default: 262144)'],
      ['--force', 'Replace what exists. An old keystore is kept under its address'],
      ['--yes', 'Ask nothing. Flags and environment give everything, the password too'],
      json,
    ],
    load: async () => (await import('./commands/init.ts')).initialise,
  },
  {
    name: 'register',
    summary: 'Register the node on chain with a stake, or bring its registration up to date',
    flags: [
      ['--stake <ether>', 'Total stake (default: the smallest that NodeRegistry takes)'],
      ['--tiers <list>', 'Model tiers to serve, comma separated (default: 0)'],
      [
        '--node-registry <address>',
        'The expected contract. Sends nothing when the ICL names another',
      ],
      yes,
      json,
    ],
    load: async () => (await import('./commands/register.ts')).register,
  },
  {
    name: 'unregister',
    summary: 'Leave: start unbonding the stake, and withdraw it once that is over',
    flags: [['--withdraw', 'Only withdraw: do not start unbonding'], yes, json],
    load: async () => (await import('./commands/unregister.ts')).unregister,
  },
  {
    name: 'answer',
    args: ['<fault>'],
    summary: 'Answer an accusation: its hash goes on chain, the answer itself to the arbiter',
    flags: [
      ['--file <path>', 'The answer is in this file'],
      ['--text <words>', 'The answer is this text'],
      yes,
      json,
    ],
    load: async () => (await import('./commands/answer.ts')).answerFault,
  },
  {
    name: 'attest',
    summary: 'Attest with the ICL',
    flags: [
      ['--mock', 'Use the mock backend, whatever is configured'],
      ['--backend <name>', 'mock or tpm, whatever is configured', backends],
      yes,
      json,
    ],
    load: async () => (await import('./commands/attest.ts')).attestOnce,
  },
  {
    name: 'release',
    summary: "Free this wallet's TPM at the ICL, so that another wallet can attest with it",
    flags: [yes, json],
    load: async () => (await import('./commands/release.ts')).releaseTpm,
  },
  {
    name: 'run',
    summary: 'Start the daemon',
    flags: [
      ['--log-file <path>', 'Log to this file, which is rotated, instead of stdout (SVC_LOG_FILE)'],
      ['--log-format <name>', 'text or json (default: text, SVC_LOG_FORMAT)', ['text', 'json']],
    ],
    load: async () => (await import('./commands/run.ts')).runNode,
  },
  {
    name: 'repair',
    summary: 'Make a damaged job journal usable. The damaged file is kept',
    flags: [json],
    load: async () => (await import('./commands/repair.ts')).repair,
  },
  {
    name: 'status',
    summary: 'Show what the ICL, the chain, the certificate and the providers say of this node',
    flags: [json],
    load: async () => (await import('./commands/status.ts')).showStatus,
  },
  {
    name: 'doctor',
    summary: 'Check everything that the node needs, with a remedy for each failure',
    flags: [['--try', 'Run each model: at most 4 short requests, which cost tokens'], json],
    load: async () => (await import('./commands/doctor/doctor.ts')).examine,
  },
  {
    name: 'transactions',
    summary: 'Show the transactions of the wallet that are in no block yet, or move one on',
    flags: [
      ['--replace <nonce>', 'Send this one again with a higher fee'],
      ['--cancel <nonce>', 'Put an empty transfer in the place of this one'],
      yes,
      json,
    ],
    load: async () => (await import('./commands/transactions.ts')).showTransactions,
  },
  {
    name: 'jobs',
    summary: "Show this node's jobs and the reputation events that they brought",
    flags: [
      ['--limit <n>', 'How many of the latest jobs to show (default: 20)'],
      ['--csv', 'Print CSV'],
      [
        '--explain',
        "Recompute the node's record from the ICL's signed events, and compare it with what the ICL shows",
      ],
      json,
    ],
    load: async () => (await import('./commands/jobs.ts')).showJobs,
  },
  receiptCommand,
  {
    name: 'completion',
    args: ['<shell>'],
    summary: 'Print the completion script of a shell: bash, zsh or fish',
    flags: [],
    words: ['bash', 'zsh', 'fish'],
    load: async () => {
      const { printCompletion } = await import('./commands/completion.ts')
      return async (_, { print }, [shell = '']) => printCompletion(shell, commands, print)
    },
  },
]
