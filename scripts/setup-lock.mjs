import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 250

/** The file that says which process installs the packages of a project's folder. */
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

/** A link appears whole, with the holder in it, or not at all. */
const tryLink = (from, path) => {
  try {
    linkSync(from, path)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Takes away the lock of a process that has ended, unless another has taken it over in this moment. */
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
    // A number that is our own now was another process's before the machine or container started again.
    if (!(holder > 0) || holder === process.pid || !isAlive(holder)) {
      dropStale(path, own, holder)
      continue
    }
    if (!told) tell(holder)
    told = true
    await sleep(pollMs)
  }
}

/** Runs `body` while no other process holds the lock at `path`; `tell` hears of the one that has to be waited for. */
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
