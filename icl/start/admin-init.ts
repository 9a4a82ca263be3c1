import { writeFileSync } from 'node:fs'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { flag, json, option } from '../../lib/host/program/option.ts'
import { command } from '../../lib/host/program/program.ts'
import { ownerOnly } from '../../lib/host/write-whole.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemRandom } from '../../lib/system.ts'
import type { AdminTerminal } from './admin-command.ts'
import { Settings, setIn } from './settings.ts'

type Given = Readonly<Record<string, string | undefined>>

/** Where unit and compose file expect the address file of the contracts. */
const deploymentFile = '/etc/svc-icl/deployment.json'

const hex = (bytes: number): string => Buffer.from(systemRandom.bytes(bytes)).toString('hex')

/** Makes the settings of a new ICL. */
export const initCommand = command({
  name: 'init',
  summary: 'Write an environment file (mode 0600) with new secrets for a new ICL',
  args: z.object({ file: option(z.string().min(1), 'FILE') }),
  options: z.object({
    mock: flag('Also make SVC_ICL_MOCK_ATTESTATION_KEY, for nodes without a TPM'),
    json,
  }),
  notes: `It keeps every setting of the environment, among which SVC_ICL_PUBLIC_URL and SVC_ICL_RPC_URL are required, and prints the coordinator's address, for \`npm run contracts:deploy\`. The contracts are those of ${deploymentFile} unless the environment names others.`,
  run: async ({ file, mock, json }, { environment, print }: AdminTerminal) => {
    const settings = completed(checked(environment), mock)
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    writeNew(file, lines.join(''))
    const coordinator = coordinatorOf(settings)
    if (json) print(JSON.stringify({ file, coordinator }))
    else print(`Settings:     ${file} (keep a copy: what the ICL has signed hangs on its secret)`)
    if (!json && coordinator) print(`Coordinator:  ${coordinator}`)
    return undefined
  },
})

/** The settings of the environment. Throws SvcError `settings-invalid` with every mistake. */
function checked(environment: AdminTerminal['environment']): Given {
  const given: Given = Object.fromEntries(
    // SVC_ICL_ENDPOINT is a setting of nodes and clients.
    Object.entries(setIn(environment)).filter(([name]) => /^SVC_ICL_(?!ENDPOINT$)/.test(name)),
  )
  const missing = ['SVC_ICL_PUBLIC_URL', 'SVC_ICL_RPC_URL']
    .filter((name) => given[name] === undefined)
    .map((name) => `  ${name} is missing`)
  const mistakes = Object.entries(given).flatMap(([name, value]) => mistakesOf(name, value))
  if (missing.length + mistakes.length === 0) return given
  const all = [...missing, ...mistakes].join('\n')
  throw new SvcError('settings-invalid', `The settings are not usable:\n${all}`, {
    hint: 'Set them in the environment of this command. `npm run icl -- --help` lists every one.',
  })
}

function mistakesOf(name: string, value = ''): readonly string[] {
  const type = Settings.shape[name as keyof Settings]
  if (type === undefined) return [`  ${name} is not a setting of the ICL`]
  const { error } = type.safeParse(value)
  if (error) return error.issues.map(({ message }) => `  ${name} ${message}`)
  const isUnclear = /[^\x21-\x7e]|["'`\\$#]/.test(value)
  return isUnclear ? [`  ${name} ${unclear}`] : []
}

const unclear =
  'has white space, quotes, \\, $ or #, which systemd, Docker and shells read in different ways: leave it out, and add it to the file by hand'

function completed(given: Given, mock: boolean): Given {
  const isSet = (name: string) => given[name] !== undefined || given[`${name}_FILE`] !== undefined
  const made: Given = {
    SVC_ICL_SECRET: hex(32),
    SVC_ICL_COORDINATOR_KEY: generatePrivateKey(),
    SVC_ICL_METRICS_TOKEN: hex(24),
    ...(given.SVC_ICL_NODE_REGISTRY === undefined && { SVC_ICL_DEPLOYMENT: deploymentFile }),
    ...(given.SVC_ICL_PUBLIC_URL?.startsWith('https:') && { SVC_ICL_TRUSTED_PROXIES: '1' }),
    ...(mock && { SVC_ICL_MOCK_ATTESTATION_KEY: hex(32) }),
  }
  const missing = Object.entries(made).filter(([name]) => !isSet(name))
  return { ...given, ...Object.fromEntries(missing) }
}

/** Writes a file that is not there, since another may hold secrets in use. Throws SvcError `settings-exist` or `settings-unwritable`. */
function writeNew(file: string, content: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: ownerOnly, flush: true })
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    throw isThere
      ? new SvcError('settings-exist', `${file} is there already, and may hold secrets in use`, {
          hint: 'Name another file, or move it away.',
        })
      : new SvcError('settings-unwritable', errorMessage(error), {
          hint: 'Make its folder first, or name a file in a folder that you can write to.',
          cause: error,
        })
  }
}

/** The account of the coordinator's key; undefined where another file holds the key. */
function coordinatorOf({ SVC_ICL_COORDINATOR_KEY: key }: Given): Address | undefined {
  if (key === undefined) return undefined
  return Address.parse(privateKeyToAccount(key as `0x${string}`).address)
}
