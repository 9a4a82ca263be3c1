// Every error of the client says what went wrong, what to do, and whether trying again can help.

import { SvcError } from '../lib/client/mod.ts'
import { client } from './connect.ts'

/** Asks up to three times, as long as trying again can help. */
async function ask(prompt: string, model: string): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await client.infer(prompt, { model })
      return result.status === 'accepted' ? result.output : undefined
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      console.log(`${error.code}: ${error.message}. ${error.hint}`)
      if (!error.retryable || attempt === 3) return undefined
    }
  }
}

await ask('Hello?', 'openai:no-such-model')
await ask('', 'openai:gpt-4o-mini')
