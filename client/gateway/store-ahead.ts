import type { GatewayOptions } from './gateway-options.ts'

/** Has one key ready for the next job of a model, in the background. */
export type StoreAhead = (model: string) => void

/** Keeps one key ready for each model that had a job, so that it spends nothing without requests. `onEnded` hears of each key, or why there is none. */
export function createStoreAhead(
  options: Pick<GatewayOptions, 'agreement' | 'stopping'> & {
    readonly client: Pick<GatewayOptions['client'], 'storeKeyAhead' | 'keysAhead'>
  },
  onEnded: (model: string, error?: unknown) => void,
): StoreAhead {
  const { client, agreement, stopping } = options
  const underWay = new Set<string>()
  const store = async (model: string): Promise<void> => {
    const wanted = { model, ...agreement, signal: stopping }
    try {
      if ((await client.keysAhead(wanted)) > 0) return
      await client.storeKeyAhead(wanted)
      onEnded(model)
    } catch (error) {
      if (!stopping.aborted) onEnded(model, error)
    } finally {
      underWay.delete(model)
    }
  }
  return (model) => {
    if (underWay.has(model) || stopping.aborted) return
    underWay.add(model)
    void store(model)
  }
}
