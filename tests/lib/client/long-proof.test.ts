import { expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import type { Coprocessor } from '../../../lib/coprocessor/coprocessor.ts'
import { createWorkerProver, type ProofWorker } from '../../../lib/coprocessor/worker-prover.ts'
import { holdTime } from '../../virtual-clock.ts'
import { coprocessorAt, startDouble } from '../coprocessor/coprocessor-double.ts'
import { createFakeWorld } from './fake-world.ts'

const proofMs = 30_000

it('an inference bears a proof that keeps the main thread of a browser for 30 s', async () => {
  const double = await startDouble()
  const { context, callsOf } = await createFakeWorld()
  // Time stands still for requests, and passes for the proof: every timer that becomes due in it fires before the proof is there.
  let release = () => {}
  const onMainThread = (): ProofWorker => {
    let answer: (event: never) => void = () => {}
    return {
      addEventListener: (type: string, hear: typeof answer) => {
        if (type === 'message') answer = hear
      },
      postMessage: () => {
        release()
        void context.clock.sleep(proofMs).then(() => {
          release = holdTime()
          answer({ data: { proof: new Uint8Array([1, 2, 3]) } } as never)
        })
      },
      terminate: () => {},
    }
  }
  const { clock } = context
  const prover = createWorkerProver({ clock, startWorker: onMainThread, wasmUrl: 'tfhe_bg.wasm' })
  const real = coprocessorAt(double.url, { clock, prover })
  const encrypt: Coprocessor['encrypt'] = async (high, low, options) => {
    release = holdTime()
    await real.encrypt(high, low, options).finally(() => release())
    return await context.coprocessor.encrypt(high, low)
  }
  const coprocessor = { ...context.coprocessor, encrypt }
  const result = await infer({ ...context, coprocessor }, 'Why?', { model: 'openai:gpt-4o-mini' })
  expect(result).toMatchObject({ status: 'accepted', output: 'answer to Why?' })
  expect(result.proof?.stepsMs.prove).toBe(proofMs)
  // Nothing was done twice: neither the pool nor the proof was too old, and no deadline had an attempt repeated.
  expect([callsOf('previewQuorum').length, callsOf('storeKey').length]).toEqual([1, 1])
  expect([double.count('/GetCrs'), double.count('/verify')]).toEqual([1, 1])
  await double.close()
}, 60_000)
