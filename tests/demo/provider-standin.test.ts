import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProcesses, type Processes } from '../../demo/processes.ts'
import { standInLabel } from '../../demo/provider-standin.ts'
import { startStandIn } from '../../demo/standin-process.ts'

let folder = ''
let processes: Processes
let url = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-standin-test-'))
  processes = createProcesses(folder)
  url = (await startStandIn(processes)).url
})
afterAll(async () => {
  await processes.close()
  await rm(folder, { recursive: true, force: true })
})

const openai = () => new OpenAI({ apiKey: 'any', baseURL: `${url}/v1`, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: 'any', baseURL: url, maxRetries: 0 })

const askOpenai = async (prompt: string, model = 'gpt-4o-mini') => {
  const messages = [{ role: 'user' as const, content: prompt }]
  const { choices } = await openai().chat.completions.create({ model, messages })
  return choices[0]?.message.content
}
const askAnthropic = async (prompt: string, model = 'claude-sonnet-4-5') => {
  const messages = [{ role: 'user' as const, content: prompt }]
  const { content } = await anthropic().messages.create({ model, max_tokens: 100, messages })
  return content[0]?.type === 'text' ? content[0].text : undefined
}

describe('the stand-in for the hosted providers', () => {
  it("speaks OpenAI's protocol to OpenAI's own client", async () => {
    const answer = await askOpenai('Why is the sea salty?')
    expect(answer).toContain('Why is the sea salty?')
    expect(answer).toContain(standInLabel)
    expect(await askOpenai('Why is the sea salty?')).toBe(answer)
    expect(await askOpenai('Why is the sea blue?')).not.toBe(answer)
  })

  it("speaks Anthropic's protocol to Anthropic's own client", async () => {
    const answer = await askAnthropic('Why is the sea salty?')
    expect(answer).toBe(await askOpenai('Why is the sea salty?'))
  })

  it('says in its list of models that none runs', async () => {
    const { data } = await openai().models.list()
    expect(data.length).toBeGreaterThan(1)
    expect(new Set(data.map(({ owned_by }) => owned_by))).toEqual(new Set([standInLabel]))
  })

  it('refuses as the providers do', async () => {
    await expect(askOpenai('x', 'gpt-unknown')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
    await expect(askAnthropic('x', 'gpt-4o-mini')).rejects.toMatchObject({
      status: 404,
      type: 'not_found_error',
    })
    const bare = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
    expect(bare.status).toBe(401)
    const headers = { authorization: 'Bearer any' }
    const broken = await fetch(`${url}/v1/messages`, { method: 'POST', body: 'no', headers })
    expect(broken.status).toBe(400)
    expect((await fetch(`${url}/v1/else`)).status).toBe(404)
  })
})
