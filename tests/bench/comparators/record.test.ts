import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createNgrams, trainModels } from '../../../demo/ngram-server.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { readAnswers } from './answers-file.ts'
import { recordingOptions } from './options.ts'
import { costOf, prepareRecording, record } from './record.ts'

let folder: string
let server: LocalServer
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-record-'))
  const ask = createNgrams({ models: await trainModels(), kind: 'honest', noise: 0.02 })
  server = await startServer(async (response, { path, body, headers }) => {
    const { authorization = '' } = headers
    const request = new Request(`http://ngram${path}`, {
      ...{ method: 'POST', body, headers: { authorization } },
    })
    const answered = await ask(request)
    answerJson(response, answered.status, await answered.json())
  })
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** A recording of three prompts, twice each. */
async function prepared(more: Readonly<Record<string, string>> = {}) {
  const [file, prompts] = [join(folder, 'answers.json'), join(folder, 'prompts.txt')]
  await writeFile(prompts, 'What is a receipt?\nWhat is a node?\nWhat is a list?\n')
  const given = { prompts, provider: 'vllm', model: 'ngram', runs: '2', ...more }
  const options = { record: file, ...recordingOptions.parse(given) }
  const recording = await prepareRecording(options, { SVC_VLLM_BASE_URL: server.url })
  return { options, recording, file }
}

it('a recording names its cost, keeps every run with log-probabilities, and goes on where it was ended', async () => {
  const { options, recording, file } = await prepared({ priceIn: '1', priceOut: '4' })
  const cost = costOf(options, recording)
  expect(cost).toMatch(/^3 of 3 questions are left: 12 calls, .* at 1 and 4 a million/)
  expect(server.seen).toEqual([])
  expect(await record(options, recording)).toBe(3)
  const { ngram: [first, ...rest] = [] } = await readAnswers(file)
  expect([Object.keys(first?.runs ?? {}), rest.length]).toEqual([['0', '1'], 2])
  expect(first?.told?.['1']?.[0]?.top).toHaveLength(5)

  // Ended within the second question.
  const asked = server.seen.length
  await writeFile(`${file}.lines`, `${JSON.stringify(first)}\n{"q":"What is a no`)
  const again = await prepared()
  expect(costOf(again.options, again.recording)).toMatch(/^2 of 3 questions are left: 8 calls/)
  expect(await record(again.options, again.recording)).toBe(3)
  expect(server.seen.length - asked).toBe(8)
  expect((await readAnswers(file)).ngram?.[0]).toEqual(first)
  await expect(readFile(`${file}.lines`)).rejects.toThrow()
})
