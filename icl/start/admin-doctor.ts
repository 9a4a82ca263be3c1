import { checkCoprocessor } from '../../lib/host/check-coprocessor.ts'
import { type Check, failedBy, reportChecks, skipped } from '../../lib/host/checks.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import type { Log } from '../telemetry/log.ts'
import type { AdminTerminal } from './admin-command.ts'
import {
  checkAttestation,
  checkDisk,
  checkFile,
  checkMeaning,
  checkStore,
} from './admin-doctor-local.ts'
import { checkBlobs, checkChain, checkPublicUrl, checkWebhooks } from './admin-doctor-remote.ts'
import { localKubo, readFileText } from './machine.ts'
import { parseSettings, type Settings } from './settings.ts'

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Checks everything that an ICL needs, whether or not one runs. Prints the checks, and returns the exit code. */
export const examine = async (
  json: boolean,
  { environment, print }: AdminTerminal,
): Promise<number> => reportChecks(await checkAll(environment), { json }, print)

const needSettings = [
  'attestation',
  'disk',
  'store',
  'file',
  'chain',
  'contracts',
  'coordinator',
  'clock',
  'coprocessor',
  'blobs',
  'webhooks',
  'public url',
]

async function checkAll(environment: AdminTerminal['environment']): Promise<readonly Check[]> {
  let settings: Settings
  try {
    settings = parseSettings(environment, readFileText)
  } catch (error) {
    const others = needSettings.map((name) => skipped(name, 'needs the settings'))
    return [failedBy('settings', error), ...others]
  }
  const { check, store } = await checkStore(settings, silent)
  try {
    const found = await Promise.all([
      checkMeaning(settings, environment),
      checkAttestation(settings, clock),
      checkDisk(settings),
      check,
      checkFile(settings, silent),
      checkChain(settings, clock),
      checkCoprocessor(
        {
          rpcUrl: settings.SVC_ICL_RPC_URL,
          chainId: settings.SVC_ICL_CHAIN_ID,
          urls: settings.SVC_ICL_COFHE_URLS,
        },
        { clock, random },
        'Stop the ICL. Tell the operator of the coprocessor.',
      ),
      checkBlobs(settings, { store, clock, log: silent, localKubo }),
      checkWebhooks(settings, { store, clock, random }),
      checkPublicUrl(settings, { clock, random }),
    ])
    return found.flat()
  } finally {
    await store?.close()
  }
}
