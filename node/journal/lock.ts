import { dirname, join } from 'node:path'
import { takeFileLock } from '../../lib/host/file-lock.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Returns the path of the daemon's lock, beside the configuration. */
export const lockPathOf = (configPath: string): string => join(dirname(configPath), 'run.lock')

/**
 * Locks a configuration for this process, and returns the function that releases it. Two daemons would finish the same jobs and sign
 * statements that contradict one another. Throws SvcError `already-running` or `lock-unusable`.
 */
export async function takeLock(path: string): Promise<() => void> {
  const release = await takeFileLock(path)
  if (release) return release
  throw new SvcError('already-running', 'another svc-node runs with this configuration', {
    hint: `Stop it first. It is the process that has ${path} open (lsof names it).`,
  })
}

/** Runs `work` under a lock. Throws as `takeLock` does. */
export async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(path)
  try {
    return await work()
  } finally {
    release()
  }
}
