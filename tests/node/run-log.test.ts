import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openLog, withRunFlags } from '../../node/commands/run-log.ts'
import { parseConfig } from '../../node/config.ts'
import { anAddress } from '../branded.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const nodeAddress = anAddress(`0x${'a1'.repeat(20)}`)

const configOf = (environment: Record<string, string | undefined>) =>
  parseConfig(
    {
      attestation_backend: 'mock',
      icl_endpoint: 'https://icl.example',
      cofhe_endpoint: 'https://rpc.example',
      supported_model_ids: ['openai:x'],
    },
    environment,
    'config.json',
  )

function logWith(environment: Record<string, string | undefined>, isWatched = false) {
  const printed: string[] = []
  const print = (line: string) => void printed.push(line)
  const context = { clock: createVirtualClock(), print, isWatched }
  const { log, close } = openLog(context, configOf(environment), nodeAddress)
  log.step('one of many')
  log.summary('all in one')
  log.info('hello')
  close()
  return printed
}

describe('the log of `run`', () => {
  it('goes to stdout as text', () => {
    expect(logWith({})).toEqual([
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] one of many',
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] hello',
    ])
  })

  it('has one line for all steps of a job on a terminal, in text at INFO alone', () => {
    expect(logWith({}, true)).toEqual([
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] all in one',
      '[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] hello',
    ])
    expect(logWith({ SVC_LOG_LEVEL: 'DEBUG' }, true)).toHaveLength(2)
    expect(logWith({ SVC_LOG_FORMAT: 'json' }, true)).toHaveLength(2)
    expect(logWith({ SVC_LOG_LEVEL: 'WARNING' }, true)).toEqual([])
  })

  it('goes to the file and in the format of the flags, which win over the environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-run-log-'))
    const logFile = join(folder, 'a.log')
    const environment = withRunFlags(
      { SVC_LOG_FILE: join(folder, 'b.log'), SVC_LOG_FORMAT: 'text' },
      { logFile, logFormat: 'json' },
    )
    expect(logWith(environment)).toEqual([])
    const lines = readFileSync(logFile, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['one of many', 'hello'])
    await rm(folder, { recursive: true })
  })
})

describe('the metrics of `run`', () => {
  it('are at the address of the flag, else of the environment', () => {
    const flags = { logFile: undefined, logFormat: undefined }
    const at = (metrics: string | undefined) =>
      configOf(withRunFlags({ SVC_METRICS: '9464' }, { ...flags, metrics })).metrics
    expect(at('[::1]:9465')).toEqual({ host: '[::1]', port: 9465 })
    expect(at(undefined)).toEqual({ host: '127.0.0.1', port: 9464 })
    expect(() => configOf({ SVC_METRICS: 'here' })).toThrow(
      /metrics \(SVC_METRICS\): must be a port/,
    )
  })
})
