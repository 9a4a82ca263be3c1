import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { flag, json, OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { Ether } from '../ether.ts'

const text = z.string().optional()
const backend = OneOf(['mock', 'tpm']).optional()
const yes = flag('Ask nothing but the password')
const registering = {
  registerUpTo: option(
    text,
    'ETHER',
    'Stake and gas that `svc-node run` may pay to register by itself (SVC_REGISTER_UP_TO)',
  ),
  nodeRegistry: option(text, 'ADDRESS', 'The contract that it may pay (SVC_NODE_REGISTRY)'),
}

const tiersError = 'takes at most 16 numbers from 0 to 255, such as 0,1'
const Tiers = z
  .string()
  .regex(/^\d{1,3}( ?, ?\d{1,3})*$/, tiersError)
  .transform((list) => [...new Set(list.split(',').map(Number))].toSorted((a, b) => a - b))
  .refine((tiers) => tiers.length <= 16 && tiers.every((tier) => tier <= 255), tiersError)

const Nonce = z
  .string()
  .regex(/^\d{1,15}$/, 'takes a nonce, such as 7')
  .transform(Number)
  .optional()

const HttpUrl = z.url({
  protocol: /^https?$/,
  error: 'takes an address such as https://name.example',
})

/** How many jobs `jobs` shows. */
export const defaultJobs = 20

/** The options of each command. */
export const options = {
  init: z
    .object({
      iclEndpoint: option(text, 'URL', 'ICL base URL (SVC_ICL_ENDPOINT)'),
      cofheEndpoint: option(
        text,
        'URL',
        'Chain RPC address for FHE operations (SVC_COFHE_ENDPOINT)',
      ),
      cofheUrls: option(
        text,
        'URLS',
        'Coprocessor: one address, or three with commas (SVC_COFHE_URLS). Known for public networks',
      ),
      ipfsGateway: option(text, 'URL', 'IPFS gateway (SVC_IPFS_GATEWAY, default: the ICL)'),
      models: option(text, 'IDS', 'Models to serve, comma separated (SVC_SUPPORTED_MODEL_IDS)'),
      attestationBackend: option(backend, 'NAME', 'How the node attests, by mock if left out'),
      backend: option(backend, 'NAME', 'The same as --attestation-backend'),
      tpm: option(text, 'PLACE', 'Another TPM than that of this machine (SVC_TPM)'),
      ...registering,
      scryptN: option(
        WholeNumber(4_096, 4_194_304)
          .refine((n) => Number.isInteger(Math.log2(n)), 'takes a power of two')
          .default(262_144),
        'N',
        'Cost of the keystore, a power of two',
      ),
      force: flag('Replace what exists. An old keystore is kept under its address'),
      yes: flag('Ask nothing. Options and environment give everything, the password too'),
      json,
    })
    .refine(
      ({ backend: one, attestationBackend: other }) =>
        one === undefined || other === undefined || one === other,
      '--backend and --attestation-backend mean the same and differ',
    ),
  register: z.object({
    stake: option(
      Ether.optional(),
      'ETHER',
      'Total stake (default: the smallest that NodeRegistry takes)',
    ),
    tiers: option(Tiers.optional(), 'LIST', 'Model tiers to serve, comma separated (default: 0)'),
    nodeRegistry: option(
      Address.optional(),
      'ADDRESS',
      'The expected contract. Sends nothing when the ICL names another',
    ),
    ...{ yes, json },
  }),
  unregister: z.object({
    withdraw: flag('Only withdraw: do not start unbonding'),
    ...{ yes, json },
  }),
  answer: z
    .object({
      file: option(text, 'FILE', 'The answer is in this file'),
      text: option(text, 'TEXT', 'The answer is this text'),
      ...{ yes, json },
    })
    .refine((one) => (one.file === undefined) !== (one.text === undefined), {
      error: 'the answer is a --file or a --text: give one of them',
    }),
  attest: z
    .object({
      mock: flag('Use the mock backend, whatever is configured'),
      backend: option(backend, 'NAME', 'Use this backend, whatever is configured'),
      ...{ yes, json },
    })
    .refine((one) => !one.mock || one.backend !== 'tpm', {
      error: '--mock and --backend tpm exclude each other',
    }),
  release: z.object({ yes, json }),
  run: z.object({
    logFile: option(
      text,
      'PATH',
      'Log to this file, which is rotated, instead of stdout (SVC_LOG_FILE)',
    ),
    logFormat: option(
      OneOf(['text', 'json']).optional(),
      'NAME',
      'How to log, by text if left out (SVC_LOG_FORMAT)',
    ),
    metrics: option(
      text,
      'ADDRESS',
      'Serve metrics for Prometheus here, such as 127.0.0.1:9464 (SVC_METRICS)',
    ),
    ...registering,
  }),
  repair: z.object({ json }),
  status: z.object({ json }),
  doctor: z.object({
    try: flag('Run each model: at most 4 short requests, which cost tokens'),
    json,
  }),
  transactions: z
    .object({
      replace: option(Nonce, 'NONCE', 'Send this one again with a higher fee'),
      cancel: option(Nonce, 'NONCE', 'Put an empty transfer in the place of this one'),
      ...{ yes, json },
    })
    .refine((one) => one.replace === undefined || one.cancel === undefined, {
      error: '--replace and --cancel exclude each other',
    }),
  jobs: z
    .object({
      limit: option(
        WholeNumber(1, 99_999).optional(),
        'N',
        `How many of the latest jobs to show, ${defaultJobs} if left out`,
      ),
      csv: flag('Print CSV'),
      explain: flag(
        "Recompute the node's record from the ICL's signed events, and compare it with what the ICL shows",
      ),
      json,
    })
    .refine((one) => !one.csv || !one.json, '--csv and --json exclude each other')
    .refine((one) => !one.explain || (!one.csv && one.limit === undefined), {
      error: '--explain takes all events: neither --csv nor --limit',
    }),
  receipt: z.object({
    rpc: option(
      z.array(HttpUrl).default([]),
      'URL',
      'Also check against the chain behind this RPC address. All that are given have to agree',
    ),
    resultRegistry: option(
      Address.optional(),
      'ADDRESS',
      "ResultRegistry on that chain (default: from the receipt's ICL)",
    ),
    promptKeyStore: option(
      Address.optional(),
      'ADDRESS',
      "PromptKeyStore on that chain (default: from the receipt's ICL)",
    ),
    gateway: option(
      HttpUrl.optional(),
      'URL',
      'Also draw the list again, from the pool that this IPFS gateway has',
    ),
    iclKey: option(
      z
        .string()
        .regex(/^[\w-]{43}$/, 'takes a public key, 43 characters of base64url')
        .optional(),
      'KEY',
      "One of the ICL's public keys (base64url), which must have signed the tally",
    ),
    with: option(
      z.string().optional(),
      'FILE',
      'Also compare with acknowledgements of the ICL, as a node keeps them',
    ),
    json,
  }),
}

/** The parsed options of a command. */
export type Given<Name extends keyof typeof options> = z.output<(typeof options)[Name]>
