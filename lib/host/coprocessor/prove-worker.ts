import { buildProof } from '../../coprocessor/build-proof.ts'
import { errorMessage } from '../../error-message.ts'
import type { WorkerAnswer, WorkerRequest } from './proof-work.ts'
import { loadTfhe } from './tfhe.ts'
import { makeSampleKeys, open, roundTrip } from './tfhe-sample.ts'

declare const self: Worker

const outputOf = (request: WorkerRequest) => {
  switch (request.kind) {
    case 'prove':
      return buildProof(request.input)
    case 'roundTrip':
      return roundTrip(request.input)
    case 'makeSampleKeys':
      return makeSampleKeys()
    case 'open':
      return open(request.input)
  }
}

const answer = (request: WorkerRequest): WorkerAnswer<WorkerRequest['kind']> => {
  try {
    loadTfhe()
    return { output: outputOf(request) }
  } catch (error) {
    return { failure: errorMessage(error) }
  }
}

// One request per worker, which then ends with its memory: the only way that WASM gives memory back.
self.addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) =>
  self.postMessage(answer(data)),
)
