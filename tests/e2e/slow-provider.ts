import { answerJson, startServer } from '../local-server.ts'

/** A provider whose answers wait until a test lets them go. */
export type SlowProvider = {
  readonly url: string
  /** The calls of each key, in their order. */
  readonly calls: string[]
  /** What it answers; a status makes it fail. */
  answer: (key: string) => string | { readonly status: number; readonly code: string }
  /** Keys whose answers wait. */
  readonly held: Set<string>
  /** Lets answers go: of one key, or of all. */
  readonly release: (key?: string) => void
  readonly stop: () => Promise<void>
}

/** Starts it. */
export async function startSlowProvider(): Promise<SlowProvider> {
  const calls: string[] = []
  const held = new Set<string>()
  const waiting: { readonly key: string; readonly go: () => void }[] = []
  const server = await startServer(async (response, request) => {
    if (request.path.endsWith('/models')) return answerJson(response, 200, { data: [] })
    const key = String(request.headers.authorization).replace('Bearer ', '')
    calls.push(key)
    if (held.has(key)) await new Promise<void>((go) => waiting.push({ key, go }))
    const answer = provider.answer(key)
    if (typeof answer === 'object') {
      return answerJson(response, answer.status, { error: { message: 'no', ...answer } })
    }
    answerJson(response, 200, {
      choices: [{ index: 0, message: { role: 'assistant', content: answer } }],
    })
  })
  const provider: SlowProvider = {
    url: server.url,
    calls,
    answer: () => 'the answer',
    held,
    release(key) {
      for (const one of [...held]) if (key === undefined || one === key) held.delete(one)
      for (const one of waiting) if (key === undefined || one.key === key) one.go()
    },
    stop: server.close,
  }
  return provider
}
