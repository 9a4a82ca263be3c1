import { SvcError } from '../../../lib/svc-error.ts'
import { readBootEventLog } from './boot-event-log.ts'
import { openTpmFile } from './file-transport.ts'
import { openTpmSocket } from './socket-transport.ts'
import { readTpmPlace, type TpmPlace } from './tpm-setting.ts'
import type { TpmDevice } from './transport.ts'

const linuxDevice = '/dev/tpmrm0'

/** Returns the TPM of the setting, else that of this machine. Throws SvcError `tpm-unsupported` where none can be used. */
export function findTpm(setting: string | undefined, platform = process.platform): TpmDevice {
  const place: TpmPlace | undefined =
    setting === undefined ? { kind: 'own' } : readTpmPlace(setting)
  if (place?.kind === 'file') return fileDevice(place.path)
  if (place?.kind === 'socket') {
    const name = setting ?? ''
    return { name, isBare: true, open: (signal) => openTpmSocket(place.to, name, signal) }
  }
  if (platform === 'linux') return fileDevice(linuxDevice)
  if (platform === 'win32') return windowsDevice()
  throw new SvcError('tpm-unsupported', `svc-node can use no TPM on ${platform}`, {
    hint: 'Run the node on Linux or Windows, or use attestation_backend mock where the ICL accepts it.',
  })
}

const fileDevice = (path: string): TpmDevice => ({
  name: path,
  // The kernel's resource manager cleans up when the file is closed. A device without it has one user at a time.
  isBare: false,
  open: () => openTpmFile(path),
  readEventLog: () => readBootEventLog(),
})

/** The TPM Base Services. Their code is loaded only on Windows. */
const windowsDevice = (): TpmDevice => ({
  name: 'TPM Base Services',
  isBare: false,
  open: async (signal) => (await import('./windows-transport.ts')).openTbs(signal),
  readEventLog: async (signal) => (await import('./windows-transport.ts')).readTbsEventLog(signal),
})
