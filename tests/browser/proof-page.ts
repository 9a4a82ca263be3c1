// The page of proof.test.ts. It makes keys and a proof on its own thread, by the code that the workers of applications run.

import loadTfhe from 'tfhe'
import { answerProof } from '../../lib/coprocessor/answer-proof.ts'
import { makeSampleKeys, open } from '../../lib/host/coprocessor/tfhe-sample.ts'

const wasmUrl = 'tfhe_bg.wasm'
const metadata = new Uint8Array(53)

/** Returns what a coprocessor would open of a proof of these values. */
const proven = async (values: readonly number[]): Promise<readonly number[]> => {
  await loadTfhe({ module_or_path: wasmUrl })
  const { clientKey, ...keys } = makeSampleKeys()
  const material = { ...keys, metadata, values: values.map(BigInt) }
  const answer = await answerProof({ wasmUrl, material }, (url) => url)
  if ('failure' in answer) throw new Error(answer.failure)
  return open({ ...keys, ...answer, clientKey, metadata }).map(Number)
}

Object.assign(globalThis, { proven })
