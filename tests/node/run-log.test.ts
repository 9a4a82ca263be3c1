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
  log.info(`Job 0x156b${'0'.repeat(56)}c964: claimed`)
  log.info(`Job 0x156b${'0'.repeat(56)}c964: uploaded encrypted output bafkrei${'a'.repeat(52)}`)
  log.warning(`Transaction 0x${'0'.repeat(64)} waits`)
  close()
  return printed
}

describe('the log of `run`', () => {
  it('goes to stdout as text', () => {
    expect(logWith({})).toEqual([
      `[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] Job 0x156b${'0'.repeat(56)}c964: claimed`,
      `[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] Job 0x156b${'0'.repeat(56)}c964: uploaded encrypted output bafkrei${'a'.repeat(52)}`,
      `[2027-01-15T08:00:00] [WARNING] [0xa1a1..a1a1] Transaction 0x${'0'.repeat(64)} waits`,
    ])
  })

  it('shortens the ids of jobs on a terminal, but not at DEBUG, in JSON, or in another id', () => {
    const [claimed, uploaded, waits] = logWith({}, true)
    expect(claimed).toBe('[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] Job 0x156b..c964: claimed')
    expect(uploaded).toMatch(/ Job 0x156b\.\.c964: uploaded encrypted output bafkreia\.\.aaaa$/)
    expect(waits).toContain(`0x${'0'.repeat(64)}`)
    for (const whole of [{ SVC_LOG_LEVEL: 'DEBUG' }, { SVC_LOG_FORMAT: 'json' }]) {
      expect(logWith(whole, true)).toEqual(logWith(whole))
    }
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
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(['INFO', 'INFO', 'WARNING'])
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
