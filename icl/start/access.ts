import { Address } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { RateName } from '../../lib/schemas/network.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Access } from '../rules/access.ts'
import type { ReadText } from './deployment-settings.ts'
import type { Settings } from './settings.ts'

/** Who may use the ICL, by its settings. Reads the list of clients if it is a file. Throws SvcError `settings-invalid`. */
export const accessOf = (settings: Settings, readText: ReadText): Access => ({
  rates: Object.fromEntries(
    RateName.options
      .map((name) => [name, settings[`SVC_ICL_RATE_${upper(name)}`]] as const)
      .filter(([, rate]) => rate !== undefined),
  ),
  clients: clientsOf(settings.SVC_ICL_CLIENT_ALLOW_LIST, readText),
  jobsPerDay: settings.SVC_ICL_JOBS_PER_DAY,
  trustedProxies: settings.SVC_ICL_TRUSTED_PROXIES,
  metricsToken: settings.SVC_ICL_METRICS_TOKEN,
  console: settings.SVC_ICL_CONSOLE,
  origins: settings.SVC_ICL_ALLOW_ORIGINS ?? [],
})

const upper = <Name extends string>(name: Name) => name.toUpperCase() as Uppercase<Name>

function clientsOf(text: string | undefined, readText: ReadText): Access['clients'] {
  if (text === undefined) return undefined
  const lines = text.startsWith('0x') ? text.split(',') : readLines(text, readText)
  const entries = lines.map((line) => line.replace(/#.*/, '').trim())
  const clients = new Set<Address>()
  const mistakes: string[] = []
  for (const [index, entry] of entries.entries()) {
    if (entry === '') continue
    const address = Address.safeParse(entry)
    if (address.success) clients.add(address.data)
    else mistakes.push(`  entry ${index + 1} is not an address`)
  }
  if (mistakes.length === 0) return clients
  throw unusable(mistakes.join('\n'))
}

function readLines(file: string, readText: ReadText): readonly string[] {
  try {
    return readText(file).split('\n')
  } catch (error) {
    throw unusable(`  the file cannot be read: ${errorMessage(error)}`)
  }
}

const unusable = (why: string): SvcError =>
  new SvcError('settings-invalid', `SVC_ICL_CLIENT_ALLOW_LIST is not usable:\n${why}`, {
    hint: 'Give addresses separated by commas, or a file with one address a line.',
  })
