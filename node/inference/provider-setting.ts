import { z } from 'zod'
import { isExposed } from '../../lib/ip-address.ts'
import {
  baseUrlVariable,
  builtInNames,
  defaultKeyVariable,
  teacherApis,
} from '../../lib/providers.ts'
import { PromptPart, TakenSizes } from '../../lib/schemas/prompt-needs.ts'

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, search, hash, username, password } = new URL(text)
  return (
    /^https?:$/.test(protocol) && [search, hash, username, password].every((part) => part === '')
  )
}

const urlMistake = 'must be an address such as https://host.example/v1, without a password or query'

// A variable of svc-node itself is refused, because its value would be sent to the server.
const isKeyVariable = (name: string): boolean =>
  /^[A-Z][A-Z0-9_]{0,63}$/.test(name) && !name.startsWith('SVC_')

const keyMistake =
  'must name the environment variable that holds the key, such as OLLAMA_API_KEY, and none of svc-node itself'

const takesMistake = `must say what its models take: parts (of ${PromptPart.options.join(', ')}), max_prompt_bytes and max_output_tokens`

const Setting = z.strictObject(
  {
    base_url: z
      .string(urlMistake)
      .max(2_048, urlMistake)
      // The checks that follow parse the address.
      .refine(isBaseUrl, { error: urlMistake, abort: true })
      .optional(),
    api_key_env: z.string(keyMistake).refine(isKeyVariable, keyMistake).optional(),
    allow_http: z.boolean('must be true or false').default(false),
    teacher: z
      .enum(
        teacherApis,
        `must be ${teacherApis.join(' or ')}: how the server gives log-probabilities of a given text`,
      )
      .optional(),
    takes: z
      .strictObject(
        { parts: z.array(PromptPart).max(16).exactOptional(), ...TakenSizes },
        takesMistake,
      )
      .optional(),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'takes base_url, api_key_env, allow_http, teacher and takes only. A key goes into the environment, under the name that api_key_env gives'
        : 'must be an object such as {"base_url": "http://127.0.0.1:11434/v1"}',
  },
)

/** A provider as the configuration describes it. */
export type ProviderSetting = z.output<typeof Setting>

const isName = (name: string): boolean =>
  /^[a-z0-9][a-z0-9-]{0,31}$/.test(name) && isKeyVariable(defaultKeyVariable(name))

/** The configured servers, by the provider name in front of the colon in model ids. */
export const ProviderSettingsField = z
  .record(z.string(), Setting, 'must map names to servers')
  .superRefine((providers, context) => {
    for (const [name, { base_url: url, allow_http: allowed }] of Object.entries(providers)) {
      const complain = (field: string, message: string) =>
        context.addIssue({ code: 'custom', path: [name, field], message })
      if (!isName(name)) {
        complain(
          '',
          'is no name for a provider: begin with a letter, continue with lower-case letters, digits and hyphens. svc is reserved',
        )
      } else if (url === undefined && !builtInNames.includes(name)) {
        complain('base_url', `is missing. Set it, or ${baseUrlVariable(name)}`)
      } else if (url !== undefined && !allowed && isExposed(url)) {
        complain(
          'base_url',
          `must be https, since others could read prompts and the key on the way. If the network is yours, set providers.${name}.allow_http to true`,
        )
      }
    }
  })
