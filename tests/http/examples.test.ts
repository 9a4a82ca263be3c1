import { describe, expect, it } from 'vitest'
import { curlOf, exampleOf } from '../../icl/docs/example.ts'
import { exampleRequest, openApiDocument } from '../../icl/docs/openapi.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'

const document = JSON.stringify(openApiDocument('1', 'https://icl.example'))

describe.each(Object.entries(endpoints) as [string, Endpoint][])(
  'the example of %s',
  (_, endpoint) => {
    const example = exampleRequest(endpoint, {})

    it('is accepted by the schemas of its operation', () => {
      for (const part of ['params', 'query', 'body'] as const) {
        const schema = endpoint[part]
        if (schema && 'parse' in schema)
          expect(schema.safeParse(example[part]).error).toBeUndefined()
      }
    })

    it('stands in the document', () => {
      const shown = curlOf(endpoint, example, 'https://icl.example')
      expect(document).toContain(`{"lang":"curl","source":${JSON.stringify(shown)}}`)
      if ('body' in example) {
        expect(document).toContain(`{"request":{"value":${JSON.stringify(example.body)}}}`)
      }
    })
  },
)

it('names a text without an example', () => {
  const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  expect(() => exampleOf(schema, {})).toThrow(/Give this schema an example.*"string"/)
})
