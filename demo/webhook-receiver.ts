import { z } from 'zod'
import { JobId } from '../lib/codecs.ts'

const Message = z.object({
  type: z.string().max(100),
  data: z.object({ jobId: JobId, status: z.string().max(100) }),
})
const maxBytes = 64 * 1024

/** Receives webhook messages and describes each. Does not check signatures, because it has no job's secret. */
export function startWebhookReceiver(
  port: number,
  tell: (text: string) => void,
): { readonly url: string; readonly stop: () => Promise<void> } {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    maxRequestBodySize: maxBytes,
    fetch: async (request) => {
      const parsed = Message.safeParse(await request.json().catch(() => undefined))
      if (!parsed.success) return new Response('This is no message of an ICL', { status: 400 })
      const { type, data } = parsed.data
      tell(`webhook ${type}: job ${data.jobId} is ${data.status}`)
      return new Response(null, { status: 204 })
    },
  })
  return { url: `${server.url.origin}/`, stop: () => server.stop(true) }
}
