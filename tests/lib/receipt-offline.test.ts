import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { makeReceipt } from './make-receipt.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const folder = mkdtempSync(join(tmpdir(), 'svc-offline-'))
let server: Server
/** How a process is run without a network: in an empty one of its own, or else with every way out closed. */
let isolation: { readonly name: string; readonly command: readonly string[] }

beforeAll(async () => {
  server = createServer((_, response) => response.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const isPermitted = (await run(['unshare', '-rn', 'true'])).code === 0
  const preload = 'Bun' in globalThis ? '--preload' : '--import'
  isolation = isPermitted
    ? { name: 'unshare -rn', command: ['unshare', '-rn', process.execPath] }
    : {
        name: 'a preload that refuses the network, since unshare -n is not permitted here',
        command: [process.execPath, preload, join(root, 'tests/lib/no-network.ts')],
      }
  process.stdout.write(`\nwithout a network means: ${isolation.name}\n`)
}, 30_000)
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a command; 127 when there is none of that name. */
function run(
  command: readonly string[],
): Promise<{ readonly code: number; readonly text: string }> {
  const [file, ...args] = command
  return new Promise((resolve) => {
    const child = spawn(file ?? '', args, {
      cwd: root,
      env: { PATH: process.env.PATH ?? '' },
      timeout: 60_000,
    })
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    child.stderr.on('data', (chunk) => {
      text += chunk
    })
    child.on('error', () => resolve({ code: 127, text }))
    child.on('close', (code) => resolve({ code: code ?? 1, text }))
  })
}

const verify = (file: string) =>
  run([...isolation.command, 'node/main.ts', 'receipt', 'verify', file])

it('a process without a network reaches nobody, not even this machine', async () => {
  const { port } = server.address() as AddressInfo
  const url = JSON.stringify(`http://127.0.0.1:${port}/`)
  const ask = `fetch(${url}).then(() => process.exit(0), () => process.exit(7))`
  const file = join(folder, 'ask.mjs')
  writeFileSync(file, `try { await ${ask} } catch { process.exit(7) }`)
  expect((await run([process.execPath, file])).code).toBe(0)
  expect((await run([...isolation.command, file])).code).toBe(7)
}, 60_000)

for (const comparator of ['exact', 'similar/2'] as const) {
  it(`a receipt with evidence for ${comparator} is checked there, and a changed one refused`, async () => {
    const answer = 'Blue light is scattered most by the air, so that it comes from everywhere.'
    const { receipt } = await makeReceipt(comparator, [answer, answer, answer])
    const file = join(folder, 'receipt.json')
    const text = JSON.stringify(z.encode(Receipt, receipt))
    writeFileSync(file, text)
    const held = await verify(file)
    expect([held.code, held.text]).toEqual([
      0,
      expect.stringContaining('The receipt is consistent.'),
    ])
    writeFileSync(file, text.replace('"group":7', '"group":3'))
    expect((await verify(file)).code).toBe(1)
  }, 120_000)
}
