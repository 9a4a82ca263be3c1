import { isContainer } from '../../lib/is-json.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Asked, Interface } from './answer-request.ts'
import { type Answered, piecesOf, proofOf, saidIn, usageOf } from './answered.ts'
import { anthropicStreamedError } from './anthropic-error.ts'
import { eventOf } from './event-stream.ts'
import { readMessageRequest } from './message-request.ts'

/** `POST /v1/messages`, Anthropic's form. */
export const messages: Interface<Asked> = {
  read: readMessageRequest,
  whole: (answered) => ({
    ...startOf(answered.inference.jobId, answered.inference.model),
    content: blocksOf(answered).map(({ block }) => block),
    ...endOf(answered),
    usage: tokensOf(answered),
    ...proofOf(answered),
  }),
  stream: (_, { model }) => {
    let hasBegun = false
    const begin = (jobId: string, usage: object): string => {
      if (hasBegun) return ''
      hasBegun = true
      const end = { stop_reason: null, stop_sequence: null }
      return write('message_start', {
        message: { ...startOf(jobId, model), content: [], ...end, usage },
      })
    }
    return {
      // message_delta has the tokens, which are known with the answer.
      alive: (jobId) => begin(jobId, usageWith(0, 0)) + write('ping', {}),
      answer: (answered) =>
        begin(answered.inference.jobId, { ...tokensOf(answered), output_tokens: 0 }) +
        blocksOf(answered).map(blockEvents).join('') +
        write('message_delta', { delta: endOf(answered), usage: tokensOf(answered) }) +
        write('message_stop', proofOf(answered)),
      failure: (error) => eventOf(anthropicStreamedError(error), 'error'),
    }
  },
}

const write = (type: string, members: object): string => eventOf({ type, ...members }, type)

const startOf = (jobId: string, model: string) => ({
  id: `msg_${jobId.slice(2, 34)}`,
  type: 'message',
  role: 'assistant',
  model,
})

const reasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

// The nodes do not tell which text ended an answer.
const endOf = ({ inference }: Answered) => ({
  stop_reason: reasons[inference.ended],
  stop_sequence: null,
})

const usageWith = (input_tokens: number, output_tokens: number) => ({
  ...{ input_tokens, output_tokens },
  ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
})

type Block = {
  readonly block: { readonly type: 'text' | 'tool_use'; readonly [member: string]: unknown }
  readonly pieces: readonly string[]
}

function tokensOf(answered: Answered) {
  const { asked, answered: said } = usageOf(answered)
  return usageWith(asked, said)
}

/** The blocks of an answer, its text or its calls, each with its pieces in a stream. */
function blocksOf(answered: Answered): readonly Block[] {
  const { content, calls } = saidIn(answered)
  if (content !== null) {
    return [{ block: { type: 'text', text: content }, pieces: piecesOf(content) }]
  }
  return calls.map(({ id, name, arguments: written }) => {
    const input = inputOf(written)
    return {
      block: { type: 'tool_use', id, name, input },
      // The official client parses all pieces so far, and fails at what is not the start of an object.
      pieces: input === written ? [JSON.stringify(written)] : piecesOf(written),
    }
  })
}

/** Reads the arguments of a call. Those that do not parse as a JSON object, as in a cut answer, stay a text. */
function inputOf(written: string): unknown {
  const input = parseJson(written)
  return isContainer(input) && !Array.isArray(input) ? input : written
}

function blockEvents({ block, pieces }: Block, index: number): string {
  const isText = block.type === 'text'
  const deltaOf = (piece: string) =>
    isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece }
  return [
    write('content_block_start', {
      index,
      content_block: { ...block, ...(isText ? { text: '' } : { input: {} }) },
    }),
    ...pieces.map((piece) => write('content_block_delta', { index, delta: deltaOf(piece) })),
    write('content_block_stop', { index }),
  ].join('')
}
