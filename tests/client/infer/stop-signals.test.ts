import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { stopSignal } from '../../../client/infer/stop-signals.ts'

function started() {
  const exits: number[] = []
  const host = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) })
  const output = new EventEmitter()
  let nowMs = 0
  const signal = stopSignal([output], host, () => nowMs)
  return {
    exits,
    signal,
    output,
    emit: (name: string, atMs: number) => {
      nowMs = atMs
      host.emit(name)
    },
  }
}

describe('a command that is told to stop', () => {
  it('stops at the first Ctrl-C, takes its echoes for the same, and leaves at the second', () => {
    const { exits, signal, emit } = started()
    expect(signal.aborted).toBe(false)
    emit('SIGINT', 10)
    expect(signal.reason).toMatchObject({ message: 'Stopped by SIGINT', exitCode: 130 })
    emit('SIGINT', 12)
    emit('SIGINT', 900)
    expect(exits).toEqual([])
    emit('SIGINT', 4_000)
    expect(exits).toEqual([130])
  })

  it('knows by its exit code what stopped it', () => {
    for (const [name, exitCode] of Object.entries({ SIGTERM: 143, SIGHUP: 129 })) {
      const { signal, emit } = started()
      emit(name, 0)
      expect(signal.reason).toMatchObject({ exitCode })
    }
  })

  it('stops when nobody reads what it prints, and still leaves at a Ctrl-C', () => {
    const { exits, signal, output, emit } = started()
    const closed = Object.assign(new Error('EPIPE: broken pipe, write'), { code: 'EPIPE' })
    output.emit('error', closed)
    output.emit('error', closed)
    expect(signal.reason).toMatchObject({ exitCode: 141 })
    emit('SIGINT', 1)
    expect(exits).toEqual([130])
  })
})
