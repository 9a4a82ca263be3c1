// Any tool of OpenAI's protocol: OPENAI_BASE_URL says where the gateway is.

import OpenAI from 'openai'

const openai = new OpenAI({
  baseURL: process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:8787/v1',
  // SVC_GATEWAY_KEY, if the gateway was given one.
  apiKey: process.env.OPENAI_API_KEY ?? 'any',
})

const { data, response } = await openai.chat.completions
  .create({
    model: 'openai:gpt-4o-mini',
    messages: [{ role: 'user', content: 'Name three uses of a lighthouse.' }],
  })
  .withResponse()
console.log(data.choices[0]?.message.content)
console.log('receipt', response.headers.get('x-svc-receipt-hash'))
