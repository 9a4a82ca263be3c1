import { statfs } from 'node:fs/promises'
import { errorMessage } from '../lib/error-message.ts'
import { SvcError } from '../lib/svc-error.ts'
import { isFree } from './free-port.ts'

/** Several times what a whole service writes in its first minutes. */
const neededBytes = 64 * 1024 * 1024
const mebibytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MiB`

/** Throws SvcError when there is no such folder, or its disk has too little room to start the service (`disk-full`). */
export async function checkDisk(folder: string, needed = neededBytes): Promise<void> {
  const { bavail, bsize } = await statfs(folder).catch((error: unknown) => {
    throw new SvcError('folder-unusable', errorMessage(error), {
      hint: 'Set TMPDIR to a folder that exists.',
    })
  })
  const free = bavail * bsize
  if (free >= needed) return
  throw new SvcError(
    'disk-full',
    `The disk of ${folder} has ${mebibytes(free)} free, and ${mebibytes(needed)} are needed`,
    { hint: 'Free some space, or set TMPDIR to a folder on another disk.' },
  )
}

/** A fixed port, its use, and the option that changes it. */
export type FixedPort = { readonly port: number; readonly use: string; readonly option: string }

/** Throws SvcError `port-in-use` that names every port that is not free. */
export async function checkPorts(ports: readonly FixedPort[]): Promise<void> {
  const free = await Promise.all(ports.map(({ port }) => isFree(port)))
  const taken = ports.filter((_, index) => !free[index])
  if (taken.length === 0) return
  const named = taken.map(({ port, use }) => `${port} (${use})`).join(', ')
  const options = [...new Set(taken.map(({ option }) => option))].join(' and ')
  throw new SvcError('port-in-use', `Ports of 127.0.0.1 that cannot be used: ${named}`, {
    hint: `Stop the program that uses them, or choose others with ${options}.`,
  })
}
