/** Whether a process ignores SIGHUP, as under nohup, by its /proc/PID/status. */
export function ignoresHangup(status: string): boolean {
  const [, mask] = /^SigIgn:\s*([0-9a-fA-F]+)$/m.exec(status) ?? []
  return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n
}
