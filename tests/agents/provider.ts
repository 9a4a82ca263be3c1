import { answerJson, startServer } from '../local-server.ts'

type Tool = { readonly function: { readonly name: string; readonly parameters?: Schema } }
type Schema = { readonly properties?: object }

/** A request of a node, as far as an answer depends on it. */
type Asked = {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly tools?: readonly Tool[]
  readonly parallel_tool_calls?: boolean
  readonly response_format?: { readonly json_schema?: { readonly schema: Schema } }
}

/** A provider that answers the prompts below by what it was asked, and sends all others on. */
export async function startProvider() {
  let other = ''
  const { url, close } = await startServer(async (response, { method, path, headers, body }) => {
    const asked = method === 'POST' ? (JSON.parse(body) as Asked) : undefined
    const [status, answer] = (asked && answerTo(asked)) ?? []
    if (status !== undefined) return answerJson(response, status, answer)
    const sent = { method, headers: { authorization: headers.authorization ?? '' } }
    const from = await fetch(`${other}${path}`, asked ? { ...sent, body } : sent)
    answerJson(response, from.status, await from.json())
  })
  return {
    url,
    close,
    sendOthersTo: (to: string) => {
      other = to
    },
  }
}

function answerTo(asked: Asked): readonly [status: number, body: object] | undefined {
  const prompt = asked.messages.map(({ role, content }) => (role === 'user' ? content : '')).join()
  const [tool] = asked.tools ?? []
  const call = (index: number, given: string) => ({
    ...{ id: `call_${index}`, type: 'function' },
    function: { name: tool?.function.name, arguments: given },
  })
  if (prompt.includes('Tell a whole book')) {
    const cut = '{"reasoning": "Once upon'
    return completion('length', tool ? { tool_calls: [call(0, cut)] } : { content: cut })
  }
  if (prompt.includes('Read a whole library')) {
    const message = "This model's maximum context length is 8 tokens."
    const code = 'context_length_exceeded'
    return [400, { error: { message, type: 'invalid_request_error', param: 'messages', code } }]
  }
  if (prompt.includes('Which members')) {
    const schema = asked.response_format?.json_schema?.schema ?? tool?.function.parameters
    const reasoning = Object.keys(schema?.properties ?? {}).join()
    const written = JSON.stringify({ reasoning, answer: 3 })
    return tool
      ? completion('tool_calls', { tool_calls: [call(0, written)] })
      : completion('stop', { content: written })
  }
  if (!prompt.includes('When do both ferries leave')) return undefined
  const results = asked.messages.filter(({ role }) => role === 'tool').length
  if (results > 0) return completion('stop', { content: `After ${results} call: 9:10` })
  const calls = [call(0, '{"port":"Kiel"}'), call(1, '{"port":"Oslo"}')]
  const tool_calls = asked.parallel_tool_calls === false ? calls.slice(0, 1) : calls
  return completion('tool_calls', { tool_calls })
}

const completion = (finish_reason: string, said: object): readonly [number, object] => [
  200,
  {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' },
    choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...said } }],
    usage: { prompt_tokens: 37, completion_tokens: 8, total_tokens: 45 },
  },
]
