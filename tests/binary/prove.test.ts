import { describe, expect, it } from 'vitest'
import { createProcessProver } from '../../lib/host/coprocessor/process-prover.ts'
import { checkEmbedded } from '../../lib/host/coprocessor/prove.ts'
import { systemClock } from '../../lib/system.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, runBare } from './executable.ts'

const timeoutMs = 240_000

// A real proof takes more than a minute with its keys: `svc-node self-check --proof` makes, verifies and opens one.
describe('the process for proofs', () => {
  it('works from the sources as well', () => checkEmbedded(AbortSignal.timeout(timeoutMs)))

  it('is ended with the signal', async () => {
    const stop = new AbortController()
    const work = checkEmbedded(stop.signal)
    const why = new Error('no longer needed')
    stop.abort(why)
    await expect(work).rejects.toBe(why)
    await expect(checkEmbedded(stop.signal)).rejects.toBe(why)
  })

  it('is the executable itself, by an argument that only it knows', async () => {
    const binary = await builtBinary()
    const deaths: string[] = []
    const prover = createProcessProver({
      clock: systemClock,
      command: [binary, 'proof-process'],
      onDeath: (why) => deaths.push(why),
    })
    const nonsense = {
      publicKeyHex: '0xabcd',
      crsHex: '0xabcd',
      values: [1n],
      metadata: new Uint8Array(53),
    }
    const work = prover.prove(nonsense, AbortSignal.timeout(timeoutMs))
    // What it says comes out of the FHE code inside it.
    await expect(work).rejects.toMatchObject({
      code: 'coprocessor-encrypt-failed',
      message: expect.stringMatching(/deserializ|unexpected end|io error/i),
    })
    expect(deaths).toEqual([])
    await inEmptyFolder(async (folder) => {
      for (const args of [['--help'], ['completion', 'bash']]) {
        const { code, stdout } = await runBare([binary, ...args], folder)
        expect(code).toBe(0)
        expect(stdout).toContain('init')
        expect(stdout).not.toContain('proof-process')
      }
    })
  })
})
