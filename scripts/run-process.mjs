import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']
const parentWatchMs = 500

/** Calls `onGone` when the parent process has ended without a signal to this one. */
const watchParent = (onGone) => {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onGone()
  }, parentWatchMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Runs a program and resolves with its exit code (128 + n after signal n). Forwards signals to the program. When npm above this process is
 * killed, it asks the program to stop.
 */
export const runProcess = (command, args, options = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', ...options })
    options.onStart?.(child)
    const forward = (signal) => child.kill(signal)
    for (const signal of forwardedSignals) process.on(signal, forward)
    const unwatch = process.env.npm_lifecycle_event
      ? watchParent(() => child.kill('SIGTERM'))
      : () => {}
    const finish = () => {
      unwatch()
      for (const signal of forwardedSignals) process.removeListener(signal, forward)
    }
    child.once('error', (error) => {
      finish()
      reject(error)
    })
    child.once('close', (code, signal) => {
      finish()
      resolve(code ?? 128 + (constants.signals[signal] ?? 0))
    })
  })
