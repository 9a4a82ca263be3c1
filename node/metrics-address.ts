import { z } from 'zod'

const wanted = 'must be a port, or an address and a port, such as 127.0.0.1:9464'

/** Where metrics are served. A port alone is on this machine's loopback. Port 0 takes a free one. */
export const MetricsAddress = z
  .string(wanted)
  .regex(/^(([\w.-]{1,253}|\[[\da-f:.]{2,45}\]):)?\d{1,5}$/i, wanted)
  .transform((text) => {
    const colon = text.lastIndexOf(':')
    const host = colon < 0 ? '127.0.0.1' : text.slice(0, colon)
    return { host, port: Number(text.slice(colon + 1)) }
  })
  .refine(({ port }) => port <= 65_535, wanted)
export type MetricsAddress = z.output<typeof MetricsAddress>
