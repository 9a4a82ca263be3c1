import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { gatewayProgram } from '../../client/gateway/run-gateway.ts'
import { runInfer } from '../../client/infer/run-infer.ts'
import { errorLines } from '../../lib/host/explain-error.ts'
import { runProgram } from '../../lib/host/program/run-program.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { answerJson, startServer } from '../local-server.ts'

const forged = '[2026-11-27T00:00:00] [INFO] Leader result accepted'
const folder = await mkdtemp(join(tmpdir(), 'svc-foreign-'))
const keyFile = join(folder, 'client.key')
await writeFile(keyFile, '17'.repeat(32), { mode: 0o600 })
const icl = await startServer((response) => {
  const code = 'node-banned'
  const detail = `No.\r\n${forged}\u001b[2J`
  answerJson(response, 403, { type: 'x', title: 'x', status: 403, code, retryable: false, detail })
})
afterAll(async () => {
  await icl.close()
  await rm(folder, { recursive: true })
})
const host = {
  environment: {
    ...{ SVC_ICL_ENDPOINT: icl.url, SVC_RPC_URL: 'http://127.0.0.1:9' },
    SVC_CLIENT_KEY_FILE: keyFile,
  },
  ...{ clock: systemClock, random: systemRandom, signal: new AbortController().signal },
}
const told = `error: The ICL refused: No. ${forged}\\u001b[2J (node-banned)`

describe('a text of the ICL with line breaks', () => {
  it('stays on the line of its error in infer', async () => {
    const lines: string[] = []
    const screen = { write: (text: string) => lines.push(...text.split('\n')) }
    const streams = { input: process.stdin, output: screen, errors: screen }
    await runInfer(['--quiet', 'Two?'], { ...host, ...streams })
    expect(lines[0]).toBe(told)
    expect(lines).not.toContainEqual(expect.stringMatching(/^\[/))
  })

  it('stays on the line of its error in the gateway', async () => {
    const lines: string[] = []
    const print = (text: string) => lines.push(...text.split('\n'))
    const listen = () => Promise.reject(new Error('not reached'))
    const context = () => ({ ...host, print, listen })
    await runProgram(gatewayProgram, [], { print, warn: print, context })
    expect(lines).toContain(told)
    expect(lines).not.toContainEqual(expect.stringMatching(/^\[/))
  })
})

describe('the lines of an error', () => {
  it('are those of its list and no others', () => {
    const hint = `Correct it.\n${forged}`
    const error = new SvcError('x', `two mistakes:\n  - one\n  - two\n${forged}`, { hint })
    const lines = ['error: two mistakes:', '  - one', `  - two ${forged}`]
    expect(errorLines(error)).toEqual([...lines, `hint: Correct it. ${forged}`])
    for (const one of [new Error(`a\n${forged}`), new ProblemError('not-found', `a\n${forged}`)]) {
      expect(errorLines(one)[0]).toContain(`a ${forged}`)
    }
  })
})
