import type { Call, Draft } from './call.ts'
import type { Answer } from './check-response.ts'
import { type FuzzWorld, remember } from './world.ts'

/** Takes from a good answer what later requests can be made of. */
export async function learn(
  { model }: FuzzWorld,
  draft: Draft | undefined,
  call: Call,
  answer: Answer,
): Promise<void> {
  if (answer.headers.get('content-type') !== 'application/json' || call.method === 'HEAD') return
  const json: unknown = JSON.parse(answer.text)
  if (draft?.operation.id !== 'getOpenApi') harvest(model.named, json)
  if (call.changes.length === 0) await draft?.learn?.(json as never)
}

const mostNamed = 24

/** Notes what answers call their values: identifiers and cursors of endpoints that are not known here. */
function harvest(named: Map<string, (string | number)[]>, json: unknown, depth = 0): void {
  if (typeof json !== 'object' || json === null || depth > 5) return
  for (const [name, value] of Object.entries(json)) {
    if (typeof value === 'string' && value.length <= 512) {
      const plain = name.toLowerCase().replaceAll('_', '')
      for (const key of new Set([plain, plain.replace(/^.*(id|cursor)$/, '$1')])) {
        const list = named.get(key) ?? []
        named.set(key, list)
        if (!list.includes(value)) remember(list, value, mostNamed)
      }
    } else harvest(named, value, depth + 1)
  }
}
