import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 250

/** Returns the path of the lock file, which names the process that installs a project's packages. */
export const lockPathOf = (root) => join(root, '.setup.lock')

const holderOf = (path) => {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** A link appears at once, with the holder in it, or not at all. */
const tryLink = (from, path) => {
  try {
    linkSync(from, path)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Removes the lock of a process that has ended, unless another process has just taken it over. */
const dropStale = (path, own, deadPid) => {
  const aside = `${own}.stale`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (!Object.is(holderOf(aside), deadPid)) tryLink(aside, path)
  rmSync(aside)
}

const acquire = async (path, own, tell) => {
  let told = false
  while (!tryLink(own, path)) {
    const holder = holderOf(path)
    if (holder === undefined) continue
    // A lock with this process's own pid is from before a restart of the machine or container.
    if (!(holder > 0) || holder === process.pid || !isAlive(holder)) {
      dropStale(path, own, holder)
      continue
    }
    if (!told) tell(holder)
    told = true
    await sleep(pollMs)
  }
}

/** Runs `body` while no other process holds the lock at `path`. Calls `tell` with the holder that it waits for. */
export const withLock = async (path, body, tell = () => {}) => {
  const own = `${path}.${process.pid}`
  writeFileSync(own, String(process.pid))
  try {
    await acquire(path, own, tell)
    try {
      return await body()
    } finally {
      rmSync(path, { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}
