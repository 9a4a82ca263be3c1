import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openLog, withLogFlags } from '../../node/commands/run-log.ts'
import { parseConfig } from '../../node/config.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { nodeAddress } from './fakes.ts'

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

function logWith(environment: Record<string, string | undefined>) {
  const printed: string[] = []
  const context = { clock: createVirtualClock(), print: (line: string) => void printed.push(line) }
  const { log, close } = openLog(context, configOf(environment), nodeAddress)
  log.info('hello')
  close()
  return printed
}

describe('the log of `run`', () => {
  it('goes to stdout as text', () => {
    expect(logWith({})).toEqual(['[2027-01-15T08:00:00] [INFO] [0xa1a1..a1a1] hello'])
  })

  it('goes to the file and in the format of the flags, which win over the environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-run-log-'))
    const logFile = join(folder, 'a.log')
    const environment = withLogFlags(
      { SVC_LOG_FILE: join(folder, 'b.log'), SVC_LOG_FORMAT: 'text' },
      { logFile, logFormat: 'json' },
    )
    expect(logWith(environment)).toEqual([])
    expect(JSON.parse(readFileSync(logFile, 'utf8')).message).toBe('hello')
    await rm(folder, { recursive: true })
  })

  it('takes no other format', () => {
    expect(() => withLogFlags({}, { logFormat: 'xml' })).toThrow(
      expect.objectContaining({ code: 'usage' }),
    )
  })
})
