import { z } from 'zod'
import { isExposed, mustNotBeExposed } from '../../lib/ip-address.ts'
import { CoprocessorSetting } from '../../lib/schemas/coprocessor-urls.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** The process's environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>

const HttpUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be an address such as https://host.example',
    abort: true,
  })
  .max(2_048, 'must have at most 2048 characters')
  .overwrite((text) => text.replace(/\/+$/, ''))

const ServiceUrl = HttpUrl.refine((text) => !isExposed(text), mustNotBeExposed)

const Path = z.string('must be the path of a file').max(4_096, 'must be a path')

const Gateways = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value),
  z.array(HttpUrl).max(8, 'must name at most 8 addresses'),
)

const Settings = z.object({
  SVC_ICL_ENDPOINT: ServiceUrl,
  SVC_RPC_URL: ServiceUrl,
  SVC_CLIENT_KEY_FILE: Path,
  SVC_KEY_PASSWORD: z.string().max(4_096, 'must have at most 4096 characters').optional(),
  SVC_KEY_PASSWORD_FILE: Path.optional(),
  SVC_DEPLOYMENT: Path.optional(),
  SVC_COFHE_URLS: CoprocessorSetting.optional(),
  SVC_IPFS_GATEWAY: Gateways.optional(),
})

/** The variables that a client on a user's machine reads. */
export const clientSettingNames: readonly string[] = Object.keys(Settings.shape)

/** The settings of a client on a user's machine. */
export type ClientSettings = z.output<typeof Settings>

/** Reads a client's settings; white space at the ends does not count, and empty variables are unset. Throws SvcError `settings-invalid`, which lists every mistake. */
export function parseClientSettings(environment: Environment): ClientSettings {
  const given = clientSettingNames.flatMap((name) => {
    // A file with CRLF leaves a carriage return. A password stays as it is.
    const text = environment[name]
    const value = name === 'SVC_KEY_PASSWORD' ? text : text?.trim()
    return value ? [[name, value] as const] : []
  })
  const present = Object.fromEntries(given)
  const parsed = Settings.safeParse(present)
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0])
    return name in present ? `${name}: ${message}` : `${name}: is missing: it ${message}`
  })
  const lines = [...new Set(mistakes)].map((mistake) => `  - ${mistake}`)
  throw new SvcError(
    'settings-invalid',
    `the settings have ${lines.length === 1 ? 'a mistake' : `${lines.length} mistakes`}:\n${lines.join('\n')}`,
    {
      hint: 'Set these variables in the environment. `npm run demo -- --keep "Hello"` prints a set that works.',
    },
  )
}
