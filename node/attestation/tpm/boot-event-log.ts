import { open } from 'node:fs/promises'
import { SvcError } from '../../../lib/svc-error.ts'
import { maxEventLogBytes } from '../../../lib/tpm/event-log.ts'
import { codeOfSystemError } from './system-error.ts'

const kernelLog = '/sys/kernel/security/tpm0/binary_bios_measurements'

/** Reads the kernel's log of the boot's measurements. Throws SvcErrors that say how to let this user read it. */
export async function readBootEventLog(path = kernelLog): Promise<Uint8Array> {
  try {
    const file = await open(path)
    try {
      return await readLimited((buffer) => file.read(buffer, 0, buffer.length, null))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof SvcError) throw error
    const isForbidden = ['EACCES', 'EPERM'].includes(codeOfSystemError(error) ?? '')
    throw new SvcError(
      'event-log-unreadable',
      `the ICL asks for the boot's event log, and ${path} cannot be read (${codeOfSystemError(error) ?? error})`,
      {
        hint: isForbidden
          ? `Let the node's user read it: \`chgrp tss ${path}\` after every boot. docs/operators.md has a line for tmpfiles.d that does it.`
          : "This machine's firmware or kernel keeps no event log: boot it by UEFI with securityfs mounted, or use another ICL.",
        cause: error,
      },
    )
  }
}

/** Reads to the end, because the size of a file in securityfs is unknown. */
async function readLimited(
  read: (buffer: Uint8Array) => Promise<{ readonly bytesRead: number }>,
): Promise<Uint8Array> {
  const log = new Uint8Array(maxEventLogBytes + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await read(log.subarray(length))
    length += bytesRead
    if (length > maxEventLogBytes) throw tooLong()
    if (bytesRead === 0) return log.slice(0, length)
  }
}

/** The error for a log that the ICL would refuse. */
export const tooLong = (): SvcError =>
  new SvcError(
    'event-log-too-long',
    `the boot's event log has more than ${maxEventLogBytes} bytes`,
    {
      hint: "Ask the ICL's operator for a policy without the event log.",
    },
  )
